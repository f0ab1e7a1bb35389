// The calls of a worker that belong to the trace of a job.
#include "common/rpc/call_trace.h"
#include "jobs/spec/job_trace.h"
#include "workers/runtime/job_batch.h"
#include "workers_fixture.h"

namespace tidemark::workers {
namespace {

const std::string kSubmitted = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0";

std::string remove_one(const std::string& flag) {
  return R"({"kind":"delete","source":"Source","partitionKey":"p","rowKey":"r","traceparent":")" + kSubmitted + flag +
         "\"}";
}

class WorkersTrace : public WorkersFixture {
 protected:
  void SetUp() override {
    WorkersFixture::SetUp();
    options_.traces = true;
    put("p", "r", 1);
    auto note = [this](std::string method) -> Task<Result<void>> {
      const auto trace = rpc::take_trace(co_await asio::this_coro::executor);
      calls_.emplace_back(std::move(method), trace ? *trace : TraceContext());
      co_return Result<void>{};
    };
    table_link_.before = note;
    queue_link_.before = note;
  }
  /// Submits the job and runs it; returns the calls since then.
  std::vector<std::pair<std::string, TraceContext>> calls_of(const std::string& text) {
    submit(text);
    auto message = receive();
    EXPECT_TRUE(message.has_value());
    calls_.clear();
    report_ = work(std::move(*message));
    EXPECT_EQ(report_.end, RunEnd::kSucceeded);
    return std::exchange(calls_, {});
  }
  RunReport report_;

 private:
  std::vector<std::pair<std::string, TraceContext>> calls_;
};

TEST_F(WorkersTrace, AllThatADeliveryCallsIsBelowItsSpan) {
  const auto calls = calls_of(remove_one("1"));
  const auto delivery = jobs::delivery_trace(report_.submitted_by, report_.job_id, report_.epoch);
  EXPECT_GE(calls.size(), 4U);
  for (const auto& [method, trace] : calls) EXPECT_EQ(trace, delivery) << method;
}

TEST_F(WorkersTrace, WhatNobodyRecordsCarriesNothing) {
  for (const auto& [method, trace] : calls_of(remove_one("0"))) EXPECT_FALSE(trace) << method;
  put("p", "r", 1);
  options_.traces = false;
  for (const auto& [method, trace] : calls_of(remove_one("1"))) EXPECT_FALSE(trace) << method;
}

TEST_F(WorkersTrace, OnlyARecordedJobHasItsCallsToItself) {
  submit(remove_one("1"));
  const auto recorded = receive();
  ASSERT_TRUE(recorded.has_value());
  EXPECT_FALSE(small_job(*recorded, jobs::kJobQueue, true).has_value());
  EXPECT_TRUE(small_job(*recorded, jobs::kJobQueue, false).has_value());
  submit(remove_one("0"));
  const auto unrecorded = receive();
  ASSERT_TRUE(unrecorded.has_value());
  EXPECT_TRUE(small_job(*unrecorded, jobs::kJobQueue, true).has_value());
}

}  // namespace
}  // namespace tidemark::workers
