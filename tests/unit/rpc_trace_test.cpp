// The trace of a piece of work is passed on with its calls, however deep they are, and only with those.
#include <gtest/gtest.h>

#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "common/base/side_by_side.h"
#include "common/rpc/call_trace.h"
#include "common/rpc/rpc_wire.h"
#include "common/rpc/zmq_transport.h"

namespace tidemark::rpc {
namespace {

const auto kRecorded = *parse_trace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "vendor=1");
const auto kUnrecorded = *parse_trace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00");

Task<std::string> trace_here() {
  const auto trace = take_trace(co_await asio::this_coro::executor);
  co_return trace ? traceparent_of(*trace) + " " + trace->state : "";
}

class Traced : public ::testing::Test {
 protected:
  template <class T>
  T run(Task<T> task) {
    auto future = asio::co_spawn(asio::make_strand(io_), std::move(task), asio::use_future);
    io_.restart();
    io_.run();
    return future.get();
  }
  asio::io_context io_;
};

TEST_F(Traced, WorkKnowsItsTraceAfterItHasWaitedAndInWhatItStarts) {
  auto clock = make_system_clock();
  auto work = [&]() -> Task<std::vector<std::string>> {
    std::vector<std::string> seen(4);
    seen[0] = co_await trace_here();
    co_await sleep_for(*clock, std::chrono::milliseconds(1));
    seen[1] = co_await trace_here();
    auto step = [&](std::size_t number) -> Task<Result<void>> {
      co_await sleep_for(*clock, std::chrono::milliseconds(1));
      seen[2 + number] = co_await trace_here();
      co_return Result<void>{};
    };
    static_cast<void>((co_await side_by_side(*clock, 2, step)).has_value());
    co_return seen;
  };
  const auto recorded = traceparent_of(kRecorded) + " vendor=1";
  EXPECT_EQ(run(in_trace(kRecorded, work())), std::vector<std::string>(4, recorded));
  EXPECT_EQ(run(in_trace(kUnrecorded, work())), std::vector<std::string>(4));
  EXPECT_EQ(run(in_trace({}, work())), std::vector<std::string>(4));
}

TEST_F(Traced, ItsEndIsTheEndOfTheTrace) {
  auto work = []() -> Task<std::string> {
    const auto inner = co_await in_trace(kRecorded, trace_here());
    EXPECT_FALSE(inner.empty());
    co_return co_await trace_here();
  };
  EXPECT_EQ(run(work()), "");
}

TEST_F(Traced, AnExceptionOfTheWorkReachesWhoeverWaits) {
  auto work = []() -> Task<int> {
    throw std::runtime_error("broken");
    co_return 1;
  };
  EXPECT_THROW(run(in_trace(kRecorded, work())), std::runtime_error);
}

TEST_F(Traced, OnlyTheFirstCallsOfAPieceOfWorkAreTold) {
  auto work = []() -> Task<std::uint32_t> {
    std::uint32_t told = 0;
    for (std::uint32_t i = 0; i < 2 * kMaxTracedCalls; ++i) told += (co_await trace_here()).empty() ? 0 : 1;
    co_return told;
  };
  EXPECT_EQ(run(in_trace(kRecorded, work())), kMaxTracedCalls);
}

TEST(RequestHead, CarriesATraceAndIsRefusedIfThatIsNone) {
  const auto plain = encode_request_head(7, nullptr);
  const auto read = decode_request_head(plain);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->id, 7U);
  EXPECT_TRUE(check_build(read->build));
  EXPECT_FALSE(read->trace);
  const auto head = encode_request_head(7, &kRecorded);
  const auto traced = decode_request_head(head);
  ASSERT_TRUE(traced);
  EXPECT_TRUE(check_build(traced->build));
  EXPECT_EQ(traced->trace, kRecorded);
  const auto longest = std::string(kMaxTraceState - 2, 'a');
  auto full = kRecorded;
  full.state = "k=" + longest.substr(0, 250);
  const auto with_state = encode_request_head(7, &full);
  EXPECT_EQ(decode_request_head(with_state)->trace.state, full.state);
  using namespace std::string_literals;  // NOLINT(google-build-using-namespace)
  EXPECT_FALSE(decode_request_head(plain + "\0"s));
  EXPECT_FALSE(decode_request_head(plain + "\0"s + "garbage"));
  EXPECT_FALSE(decode_request_head(head.substr(0, head.size() - 20)));
  EXPECT_FALSE(decode_request_head(head + longest + longest)) << "no frame is longer than the longest trace";
}

class TracedCall : public ::testing::Test {
 protected:
  TracedCall() : thread_([this] { io_.run(); }) {
    std::string name = (std::filesystem::temp_directory_path() / "tidemark-trace-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
  }
  ~TracedCall() override {
    client_.reset();
    server_.reset();
    guard_.reset();
    io_.stop();
    thread_.join();
    std::filesystem::remove_all(directory_);
  }
  void serve_calls(bool traced) {
    ServerOptions options{.endpoint = "ipc://" + (directory_ / "s.sock").string()};
    options.failed = [](std::string_view, const Error&, const TraceContext& trace) { failed_in = trace; };
    if (traced)
      options.traced = [](TraceContext parent, std::string method, std::string payload) {
        return answer(traceparent_of(parent) + " " + parent.state, std::move(method), std::move(payload));
      };
    auto server = serve(options, io_.get_executor(), [](std::string method, std::string payload) {
      return answer("no trace", std::move(method), std::move(payload));
    });
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    client_ = connect(options.endpoint);
  }
  Result<std::string> call(const TraceContext& trace, std::string method) {
    auto task = in_trace(trace, client_->call(std::move(method), "payload", std::chrono::seconds(20)));
    return asio::co_spawn(io_, std::move(task), asio::use_future).get();
  }
  static Task<Result<std::string>> answer(std::string trace, std::string method, std::string payload) {
    if (method == "fail") co_return fail(ErrorCode::kStorageFailure);
    co_return payload + " of " + trace;
  }
  static inline TraceContext failed_in;

 private:
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_{io_.get_executor()};
  std::thread thread_;
  std::filesystem::path directory_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Transport> client_;
};

TEST_F(TracedCall, ReachesTheServerWithItsTrace) {
  serve_calls(true);
  EXPECT_EQ(call(kRecorded, "echo").value_or(""), "payload of " + traceparent_of(kRecorded) + " vendor=1");
  EXPECT_EQ(call(kUnrecorded, "echo").value_or(""), "payload of no trace");
  EXPECT_EQ(call({}, "echo").value_or(""), "payload of no trace");
}

TEST_F(TracedCall, IsServedByAServerThatMakesNoSpans) {
  serve_calls(false);
  EXPECT_EQ(call(kRecorded, "echo").value_or(""), "payload of no trace");
}

TEST_F(TracedCall, WhoeverIsToldOfFailuresLearnsTheTrace) {
  serve_calls(true);
  failed_in = {};
  EXPECT_TRUE(call(kRecorded, "fail").failed_with(ErrorCode::kStorageFailure));
  EXPECT_EQ(failed_in, kRecorded);
  EXPECT_TRUE(call({}, "fail").failed_with(ErrorCode::kStorageFailure));
  EXPECT_FALSE(failed_in);
}

}  // namespace
}  // namespace tidemark::rpc
