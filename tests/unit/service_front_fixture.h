// The fronts of the three stores on one memory engine, called as over HTTP, and a disk that can break.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blob_store/rest/blob_routes.h"
#include "common/base/encoding.h"
#include "queue_service/rest/queue_routes.h"
#include "table_store/rest/table_routes.h"
#include "tests/support/captured_log.h"
#include "tests/support/memory_engine.h"
#include "tests/support/repeating_engine.h"
#include "tests/support/seeded_random.h"
#include "tests/support/task_runner.h"
#include "tests/support/temporary_payloads.h"

namespace tidemark {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

inline constexpr const char* kRequestId = "11111111-2222-3333-4444-555555555555";

/// Fails writes once its disk is broken, like a full disk.
class BreakableEngine final : public kv::Engine {
 public:
  [[nodiscard]] std::shared_ptr<const kv::Reader> snapshot() const override { return memory_->snapshot(); }
  void submit(kv::TransactionBody body, kv::Completion done) override {
    if (broken) return done(disk_full());
    memory_->submit(std::move(body), std::move(done));
  }
  void erase_ranges(std::vector<kv::KeyRange> ranges, kv::Completion done) override {
    if (erases_fail) return done(disk_full());
    memory_->erase_ranges(std::move(ranges), std::move(done));
  }
  [[nodiscard]] std::size_t queue_depth() const override { return 0; }

  bool broken = false;
  bool erases_fail = false;

 private:
  static Result<void> disk_full() {
    auto error = make_error(ErrorCode::kStorageFailure);
    error.detail = "No space left on device: /data/000123.log";
    return fail(std::move(error));
  }
  std::unique_ptr<kv::Engine> memory_ = kv::make_memory_engine();
};

class TextBody final : public http::BodyReader {
 public:
  explicit TextBody(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] std::optional<std::uint64_t> content_length() const override { return size_; }
  [[nodiscard]] std::uint64_t bytes_read() const override { return size_; }
  Task<Result<std::string>> read_all(std::size_t) override { co_return std::exchange(text_, {}); }
  Task<Result<std::string>> read_some(std::size_t) override { co_return std::exchange(text_, {}); }

 private:
  std::string text_;
  std::size_t size_ = text_.size();
};

class StoreFronts : public ::testing::Test, protected TaskRunner {
 protected:
  /// Sends a request signed with an account SAS that allows everything.
  http::Response send(service::Front& front, const std::string& method, const std::string& resource,
                      const std::string& body = {},
                      std::vector<std::pair<std::string_view, std::string_view>> more = {}) {
    const std::string tail = "\nrwdlacup\nbqt\nsco\n\n2034-01-01T00:00:00Z\n\n\n2019-02-02\n";
    const auto signature = base64_encode(hmac_sha256(account_.keys.at(0), account_.name + tail));
    const auto path = "/" + account_.name + "/" + resource.substr(0, resource.find('?'));
    auto query = "sv=2019-02-02&ss=bqt&srt=sco&sp=rwdlacup&se=2034-01-01T00:00:00Z&sig=" + percent_encode(signature);
    if (const auto mark = resource.find('?'); mark != std::string::npos) query += "&" + resource.substr(mark + 1);
    TextBody reader(body);
    http::Request request;
    request.method = method;
    request.path = path;
    request.query = query;
    request.headers = {{"Host", "127.0.0.1:10000"}};
    request.headers.insert(request.headers.end(), more.begin(), more.end());
    request.remote_address = "127.0.0.1";
    request.request_id = kRequestId;
    request.body = &reader;
    return run(front.serve(request));
  }
  void expect_failure(service::Front& front, const std::string& method, const std::string& resource,
                      const std::string& body = {}) {
    CapturedLog log;
    engine_.broken = true;
    const auto response = send(front, method, resource, body);
    engine_.broken = false;
    EXPECT_EQ(response.status, 500U) << response.body;
    EXPECT_EQ(response.headers.find("x-ms-request-id"), kRequestId);
    EXPECT_THAT(response.body, Not(HasSubstr("No space left")));
    const auto operation = method + " /" + account_.name + "/" + resource.substr(0, resource.find('?'));
    EXPECT_EQ(log.text(), std::string("error request failed request_id=") + kRequestId + " operation=\"" + operation +
                              "\" code=StorageFailure detail=\"No space left on device: /data/000123.log\"\n");
  }

  BreakableEngine engine_;
  std::unique_ptr<Clock> clock_ = kv::make_repeatable_clock();
  std::unique_ptr<Random> random_ = make_seeded_random(7);
  auth::Account account_ = auth::development_account();
  std::vector<auth::Account> accounts_ = {account_};
};

}  // namespace tidemark
