// Jobs end to end in one thread: both stores' services on the memory engine, reached through their clients over a
// loopback that a test may disturb at any call.
#pragma once
#include <gtest/gtest.h>

#include <boost/asio/use_future.hpp>

#include "blob_store/internal/blob_dispatch.h"
#include "blob_store/storage/blob_service.h"
#include "common/rpc/wire.h"
#include "jobs/poison/poison.h"
#include "queue_service/internal/queue_dispatch.h"
#include "queue_service/storage/queue_service.h"
#include "table_store/client/table_calls.h"
#include "table_store/internal/table_dispatch.h"
#include "table_store/storage/table_service.h"
#include "tests/support/memory_engine.h"
#include "tests/support/repeating_engine.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temporary_payloads.h"
#include "workers/runtime/job_runner.h"

namespace tidemark::workers {

using table_store::Entity;
using table_store::Mutation;
using table_store::MutationKind;

inline constexpr const char* kAccount = "devstoreaccount1";

/// Calls the dispatch at once; `before` may act as another process would just then, or answer with an error. It gets
/// the method; "table.count" for a query that only counts.
class Loopback final : public rpc::Transport {
 public:
  explicit Loopback(rpc::Dispatch dispatch) : dispatch_(std::move(dispatch)) {}
  Task<Result<std::string>> call(std::string method, std::string payload, Duration) override {
    if (before) {
      CO_TRY(co_await before(counts(method, payload) ? "table.count" : method));
    }
    const bool lost = method == lose_reply_to;
    auto reply = co_await dispatch_(std::move(method), std::move(payload));
    if (lost || (lose_reply && lose_reply())) co_return fail(ErrorCode::kDeadlineExceeded);
    co_return reply;
  }
  std::function<Task<Result<void>>(std::string)> before;
  std::string lose_reply_to;         // a method, whose replies are lost after its effect; empty: none
  std::function<bool()> lose_reply;  // true: the same for any method

 private:
  static bool counts(const std::string& method, const std::string& payload) {
    if (method != "table.query") return false;
    const auto call = wire::decode<table_store::calls::Query>(payload);
    return call && call->query.count_only;
  }
  rpc::Dispatch dispatch_;
};

class WorkersFixture : public ::testing::Test {
 protected:
  template <class T>
  T run(Task<T> task) {
    auto future = asio::co_spawn(io_, std::move(task), asio::use_future);
    io_.restart();
    io_.run();
    return future.get();
  }

  void SetUp() override {
    ASSERT_TRUE(run(jobs_.ensure_ready()).has_value());
    ASSERT_TRUE(run(tables_.create_table("Source")).has_value());
    options_.worker_name = "w";
    options_.retry.base = options_.retry.cap = std::chrono::milliseconds(1);
  }

  void put(const std::string& partition, const std::string& row, std::int32_t number,
           const std::string& table = "Source") {
    Mutation mutation;
    mutation.kind = MutationKind::kInsertOrReplace;
    mutation.row_key = row;
    mutation.properties = {{"Number", number}};
    auto done = run(tables_.mutate(table, partition, {mutation}, std::nullopt));
    ASSERT_TRUE(done.has_value()) << done.error().message;
  }

  jobs::JobRecord submit(const std::string& text) {
    auto spec = jobs::parse_job_spec(text);
    EXPECT_TRUE(spec.has_value()) << spec.error().message;
    auto submitted = run(jobs_.submit(*spec));
    EXPECT_TRUE(submitted.has_value()) << submitted.error().message;
    return submitted->job;
  }

  std::optional<queue_service::Message> receive(const std::string& queue = "tidemark-jobs") {
    auto message = run(queues_.receive(queue, std::chrono::seconds(30), std::chrono::seconds(2)));
    EXPECT_TRUE(message.has_value());
    return message ? *message : std::nullopt;
  }

  JobServices services() {
    return JobServices{tables_, queues_, jobs_, *clock_, *random_, callbacks_, {&blobs_, directories_, accounts_}};
  }
  RunReport work(queue_service::Message message, std::string queue = std::string(jobs::kJobQueue)) {
    LimitGate gate(tables_, *clock_, options_.lease);
    JobRunner runner(options_, services(), gate);
    return run(runner.run(std::move(message), clock_->now(), std::make_shared<const bool>(false), std::move(queue)));
  }
  RunReport work_next() {
    auto message = receive();
    EXPECT_TRUE(message.has_value());
    return message ? work(std::move(*message)) : RunReport{};
  }

  jobs::JobRecord record(const std::string& id) {
    auto found = run(jobs_.find(id));
    EXPECT_TRUE(found && *found);
    return found && *found ? **found : jobs::JobRecord{};
  }
  std::vector<Entity> all(const std::string& table) {
    std::vector<Entity> out;
    table_store::QueryRequest request;
    request.table = table;
    do {
      auto page = run(tables_.query(request));
      EXPECT_TRUE(page.has_value()) << page.error().message;
      if (!page) break;
      for (auto& entity : page->entities) out.push_back(std::move(entity));
      request.continuation = page->continuation;
    } while (!request.continuation.empty());
    return out;
  }
  jobs::JobRecord finish(const std::string& text) {
    const auto job = submit(text);
    EXPECT_EQ(work_next().end, RunEnd::kSucceeded) << text;
    return record(job.id);
  }
  /// The job's deliveries meet `faults` failing calls from each possible call on; it must end well every time.
  /// `prepare` sets the tables up, `check` looks at the result.
  void survives_a_fault_at_any_call(const std::string& text, const std::function<void()>& prepare,
                                    const std::function<void(const jobs::JobRecord&)>& check) {
    for (int fail_at = 1; fail_at < 120; ++fail_at) {
      prepare();
      const auto job = submit(text);
      int calls = 0;
      table_link_.before = [&](std::string) -> Task<Result<void>> {
        if (++calls >= fail_at && calls < fail_at + 3) co_return fail(ErrorCode::kUnavailable);
        co_return Result<void>{};
      };
      auto end = RunEnd::kRetried;
      for (int i = 0; i < 20 && end == RunEnd::kRetried; ++i) end = work_next().end;
      table_link_.before = nullptr;
      ASSERT_EQ(end, RunEnd::kSucceeded) << "fault at call " << fail_at;
      check(record(job.id));
      if (HasFailure()) FAIL() << "fault at call " << fail_at;
      if (calls < fail_at) return;  // the job ended before the fault: every call was tried
    }
    FAIL() << "the job makes more calls than expected";
  }

  /// One request or answer is lost at each place in turn; every delivery after that is undisturbed.
  void survives_a_loss_anywhere(const std::string& text, const std::function<void()>& prepare,
                                const std::function<void(const jobs::JobRecord&)>& check) {
    for (const bool answers : {false, true}) {
      for (int at = 1; at < 300; ++at) {
        prepare();
        const auto job = submit(text);
        int calls = 0;
        const auto lost = [&] { return ++calls == at; };
        for (auto* link : {&table_link_, &blob_link_}) {
          if (answers) {
            link->lose_reply = lost;
            continue;
          }
          link->before = [&](std::string) -> Task<Result<void>> {
            if (lost()) co_return fail(ErrorCode::kUnavailable);
            co_return Result<void>{};
          };
        }
        auto end = RunEnd::kRetried;
        for (int i = 0; i < 20 && end == RunEnd::kRetried; ++i) end = work_next().end;
        for (auto* link : {&table_link_, &blob_link_}) link->before = nullptr, link->lose_reply = nullptr;
        // Dropped: the answer to the write of the successful record was lost.
        ASSERT_TRUE(end == RunEnd::kSucceeded || end == RunEnd::kDropped) << (answers ? "answer " : "request ") << at;
        check(record(job.id));
        ASSERT_FALSE(HasFailure()) << (answers ? "answer " : "request ") << at;
        if (calls < at) break;
        ASSERT_LT(at, 299) << "more calls than expected";
      }
    }
  }

  std::uint64_t messages_left() { return messages(std::string(jobs::kJobQueue)); }
  std::uint64_t messages(const std::string& queue) { return run(queues_.figures(queue))->messages; }

  asio::io_context io_;
  std::unique_ptr<Clock> clock_ = kv::make_repeatable_clock();
  std::unique_ptr<Random> random_ = make_seeded_random(7);
  std::unique_ptr<kv::Engine> table_engine_ = kv::make_memory_engine();
  std::unique_ptr<kv::Engine> queue_engine_ = kv::make_memory_engine();
  table_store::TableService table_service_{*table_engine_, *clock_, *random_};
  queue_service::QueueService queue_service_{*queue_engine_, *clock_, *random_};
  std::unique_ptr<kv::Engine> blob_engine_ = kv::make_memory_engine();
  blob_store::TemporaryPayloads payload_files_{io_.get_executor()};
  blob_store::BlobService blob_service_{*blob_engine_, *clock_, *random_, payload_files_, io_.get_executor()};
  Loopback blob_link_{blob_store::make_blob_dispatch(blob_service_)};
  blob_store::BlobClient blobs_{blob_link_, kAccount};
  Loopback table_link_{table_store::make_table_dispatch(table_service_)};
  Loopback queue_link_{queue_service::make_queue_dispatch(queue_service_)};
  table_store::TableClient tables_{table_link_, kAccount};
  queue_service::QueueClient queues_{queue_link_, kAccount};
  jobs::JobStore jobs_{tables_, queues_, *clock_, *random_, &blobs_};
  jobs::PoisonStore poison_{jobs_, queues_};
  std::vector<jobs::FileDirectory> directories_;
  std::vector<std::string> accounts_;  // other accounts that jobs may reach
  RunnerOptions options_;
  const CallbackServices* callbacks_ = nullptr;
};

}  // namespace tidemark::workers
