// What the three stores' fronts do alike: a failure of the server is a line of the log, whichever store it is in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blob_store/rest/blob_routes.h"
#include "common/base/encoding.h"
#include "common/process/failures.h"
#include "queue_service/rest/queue_routes.h"
#include "table_store/rest/table_routes.h"
#include "tests/support/captured_log.h"
#include "tests/support/memory_engine.h"
#include "tests/support/seeded_random.h"
#include "tests/support/task_runner.h"
#include "tests/support/temporary_payloads.h"

namespace tidemark {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kRequestId = "11111111-2222-3333-4444-555555555555";

/// Writes once its disk is broken fail, as those of a full one do.
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
  [[nodiscard]] std::optional<std::uint64_t> content_length() const override { return text_.size(); }
  Task<Result<std::string>> read_all(std::size_t) override { co_return std::exchange(text_, {}); }
  Task<Result<std::string>> read_some(std::size_t) override { co_return std::exchange(text_, {}); }

 private:
  std::string text_;
};

class StoreFronts : public ::testing::Test, protected TaskRunner {
 protected:
  /// Signed with an account SAS that allows everything.
  http::Response send(service::Front& front, const std::string& method, const std::string& resource,
                      const std::string& body = {}) {
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
  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::unique_ptr<Random> random_ = make_seeded_random(7);
  auth::Account account_ = auth::development_account();
  std::vector<auth::Account> accounts_ = {account_};
};

TEST_F(StoreFronts, TablesTellTheLogWhatTheClientIsNotTold) {
  table_store::TableService service(engine_, *clock_, *random_);
  table_store::TableRoutes routes(service, *clock_, *random_, accounts_, {});
  expect_failure(routes, "POST", "Tables", R"({"TableName":"people"})");
  expect_failure(routes, "PUT", "?restype=service&comp=properties", "<StorageServiceProperties/>");
}

TEST_F(StoreFronts, QueuesTellTheLogWhatTheClientIsNotTold) {
  queue_service::QueueService service(engine_, *clock_, *random_);
  queue_service::rest::QueueRoutes routes(service, *clock_, accounts_, {});
  expect_failure(routes, "PUT", "orders");
  ASSERT_EQ(send(routes, "PUT", "orders").status, 201U);
  expect_failure(routes, "POST", "orders/messages", "<QueueMessage><MessageText>m</MessageText></QueueMessage>");
}

TEST_F(StoreFronts, BlobsTellTheLogWhatTheClientIsNotTold) {
  const blob_store::TemporaryPayloads files(io_.get_executor());
  blob_store::BlobService service(engine_, *clock_, *random_, files, io_.get_executor());
  blob_store::BlobRoutes routes(service, *clock_, accounts_, {});
  expect_failure(routes, "PUT", "box?restype=container");
  ASSERT_EQ(send(routes, "PUT", "box?restype=container").status, 201U);
  expect_failure(routes, "DELETE", "box?restype=container");
}

TEST_F(StoreFronts, AHeadThatFailsHasNoType) {
  queue_service::QueueService queues(engine_, *clock_, *random_);
  queue_service::rest::QueueRoutes queue_routes(queues, *clock_, accounts_, {});
  const blob_store::TemporaryPayloads files(io_.get_executor());
  blob_store::BlobService blobs(engine_, *clock_, *random_, files, io_.get_executor());
  blob_store::BlobRoutes blob_routes(blobs, *clock_, accounts_, {});
  table_store::TableService tables(engine_, *clock_, *random_);
  table_store::TableRoutes table_routes(tables, *clock_, *random_, accounts_, {});
  const std::pair<service::Front*, const char*> cases[] = {
      {&queue_routes, "absent?comp=metadata"}, {&blob_routes, "absent/blob"}, {&table_routes, "absent?comp=acl"}};
  for (const auto& [front, resource] : cases) {
    const auto head = send(*front, "HEAD", resource);
    EXPECT_EQ(head.status, send(*front, "GET", resource).status) << resource;
    EXPECT_GE(head.status, 400U) << resource;
    EXPECT_EQ(head.headers.find("Content-Type"), std::nullopt) << resource;
    EXPECT_TRUE(head.headers.find("x-ms-error-code")) << resource;
    EXPECT_TRUE(send(*front, "GET", resource).headers.find("Content-Type")) << resource;
  }
}

TEST_F(StoreFronts, ANameOfTheWrongLengthSaysSo) {
  constexpr auto kText = "The specified resource name length is not within the permissible limits.";
  queue_service::QueueService queues(engine_, *clock_, *random_);
  queue_service::rest::QueueRoutes queue_routes(queues, *clock_, accounts_, {});
  const blob_store::TemporaryPayloads files(io_.get_executor());
  blob_store::BlobService blobs(engine_, *clock_, *random_, files, io_.get_executor());
  blob_store::BlobRoutes blob_routes(blobs, *clock_, accounts_, {});
  table_store::TableService tables(engine_, *clock_, *random_);
  table_store::TableRoutes table_routes(tables, *clock_, *random_, accounts_, {});
  EXPECT_THAT(send(queue_routes, "PUT", "ab").body, HasSubstr(kText));
  EXPECT_THAT(send(blob_routes, "PUT", "ab?restype=container").body, HasSubstr(kText));
  EXPECT_THAT(send(table_routes, "POST", "Tables", R"({"TableName":"ab"})").body, HasSubstr(kText));
}

TEST_F(StoreFronts, RefusalsAreNotLogged) {
  queue_service::QueueService service(engine_, *clock_, *random_);
  queue_service::rest::QueueRoutes routes(service, *clock_, accounts_, {});
  CapturedLog log;
  EXPECT_EQ(send(routes, "GET", "absent/messages").status, 404U);
  EXPECT_EQ(send(routes, "PUT", "no--name").status, 400U);
  EXPECT_THAT(log.text(), IsEmpty());
}

TEST_F(StoreFronts, CollectionsThatFailAreLogged) {
  queue_service::QueueService queues(engine_, *clock_, *random_);
  table_store::TableService tables(engine_, *clock_, *random_);
  ASSERT_TRUE(run(queues.create_queue("acc", "orders", {})));
  ASSERT_TRUE(run(tables.create_table("acc", "people")));
  CapturedLog log;
  engine_.erases_fail = true;
  ASSERT_TRUE(run(queues.delete_queue("acc", "orders")));
  ASSERT_TRUE(run(tables.delete_table("acc", "people")));
  EXPECT_THAT(log.text(), HasSubstr("error background task failed task=queue.collect_garbage code=StorageFailure "
                                    "detail=\"No space left on device: /data/000123.log\"\n"));
  EXPECT_THAT(log.text(), HasSubstr("task=table.collect_garbage"));
}

}  // namespace
}  // namespace tidemark
