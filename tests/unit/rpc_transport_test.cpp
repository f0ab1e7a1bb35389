#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zmq.h>

#include <cstdlib>
#include <filesystem>
#include <future>
#include <mutex>

#include "common/rpc/rpc_wire.h"
#include "common/rpc/zmq_transport.h"
#include "tests/support/wait_until.h"

namespace tidemark::rpc {
namespace {

using std::chrono::milliseconds;
using Reply = std::future<Result<std::string>>;

std::atomic<bool> hold{false};

Task<Result<std::string>> answer(std::string method, std::string payload) {
  if (method == "echo") co_return payload;
  if (method == "hold") {
    auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor);
    while (hold) {
      timer.expires_after(milliseconds(1));
      co_await timer.async_wait(asio::use_awaitable);
    }
    co_return "reply to " + payload;
  }
  if (method == "throw") throw std::runtime_error("broken");
  if (method == "hang") {
    auto executor = co_await asio::this_coro::executor;
    asio::steady_timer never(executor, std::chrono::hours(1));
    co_await never.async_wait(asio::use_awaitable);
  }
  co_return fail(Error{ErrorCode::kTableNotFound, "message", "detail", {{"name", "value"}}});
}

Task<void> relay(Transport& transport, std::string method, std::string payload, milliseconds deadline,
                 std::promise<Result<std::string>> done) {
  auto result = co_await transport.call(std::move(method), std::move(payload), deadline);
  done.set_value(std::move(result));
}

class Rpc : public ::testing::Test {
 protected:
  Rpc() : thread_([this] { io_.run(); }) {
    std::string name = (std::filesystem::temp_directory_path() / "tidemark-rpc-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
    options_.endpoint = "ipc://" + path();
    options_.drain = milliseconds(0);
  }
  ~Rpc() override {
    client_.reset();
    server_.reset();
    guard_.reset();
    io_.stop();
    thread_.join();
    std::filesystem::remove_all(directory_);
  }
  std::string path() const { return (directory_ / "s.sock").string(); }
  void start_server() {
    server_.reset();
    auto started = serve(options_, io_.get_executor(), answer);
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
  }
  Reply start(std::string method, std::string payload, milliseconds deadline = milliseconds(60000)) {
    if (!client_) client_ = connect(options_.endpoint);
    std::promise<Result<std::string>> done;
    auto reply = done.get_future();
    auto task = relay(*client_, std::move(method), std::move(payload), deadline, std::move(done));
    asio::co_spawn(io_, std::move(task), asio::detached);
    return reply;
  }
  std::string value(Reply reply) {
    auto result = reply.get();
    EXPECT_TRUE(result) << result.error().message;
    return result.value_or("");
  }
  ErrorCode failure(Reply reply) {
    auto result = reply.get();
    EXPECT_FALSE(result);
    return result ? ErrorCode{} : result.error().code;
  }

  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_{io_.get_executor()};
  std::thread thread_;
  std::filesystem::path directory_;
  ServerOptions options_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Transport> client_;
};

TEST_F(Rpc, EchoesAThousandCallsAtOnce) {
  start_server();
  std::vector<Reply> replies;
  for (int i = 0; i < 1000; ++i) replies.push_back(start("echo", std::to_string(i)));
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(value(std::move(replies[static_cast<std::size_t>(i)])), std::to_string(i));
}

TEST_F(Rpc, ErrorsTravelWhole) {
  start_server();
  auto result = start("missing", "").get();
  ASSERT_TRUE(result.failed_with(ErrorCode::kTableNotFound));
  EXPECT_EQ(result.error().message, "message");
  EXPECT_EQ(result.error().detail, "detail");
  ASSERT_EQ(result.error().fields.size(), 1U);
  EXPECT_EQ(result.error().fields[0].second, "value");
  EXPECT_EQ(failure(start("throw", "")), ErrorCode::kInternalError);
}

TEST_F(Rpc, ServerIsToldOfCallsThatFail) {
  static std::vector<std::string> told;
  told.clear();
  options_.failed = [](std::string_view method, const Error& error, const TraceContext&) {
    told.push_back(std::string(method) + ": " + error.detail);
  };
  start_server();
  EXPECT_EQ(value(start("echo", "1")), "1");
  start("missing", "").wait();
  start("throw", "").wait();
  EXPECT_EQ(told, (std::vector<std::string>{"missing: detail", "throw: exception: broken"}));
}

TEST_F(Rpc, DeadlineEndsACall) {
  start_server();
  EXPECT_EQ(value(start("echo", "there is a connection")), "there is a connection");
  EXPECT_EQ(failure(start("hang", "", milliseconds(50))), ErrorCode::kDeadlineExceeded);
}

TEST_F(Rpc, AbsentServerIsUnavailableAndFoundOnceItStarts) {
  EXPECT_EQ(failure(start("echo", "a", milliseconds(50))), ErrorCode::kUnavailable);
  auto waiting = start("echo", "b");
  start_server();
  EXPECT_EQ(value(std::move(waiting)), "b");
}

TEST_F(Rpc, RestartedServerServesAgain) {
  start_server();
  EXPECT_TRUE(start("echo", "a").get());
  auto pending = start("hang", "");
  wait_until([&] { return server_->counters().calls >= 2; });
  start_server();
  EXPECT_EQ(failure(std::move(pending)), ErrorCode::kUnavailable);
  // A call may still leave on the connection that is just breaking, and gets an error; the next ones get through.
  auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  auto result = start("echo", "b").get();
  while (result.failed_with(ErrorCode::kUnavailable) && std::chrono::steady_clock::now() < limit) {
    result = start("echo", "b").get();
  }
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(*result, "b");
}

TEST_F(Rpc, BusyServerSaysSo) {
  options_.max_in_flight = 1;
  start_server();
  auto pending = start("hang", "");
  EXPECT_EQ(failure(start("echo", "")), ErrorCode::kServerBusy);
}

TEST_F(Rpc, HugePayloadIsRefused) {
  options_.max_message_bytes = 1000;
  start_server();
  EXPECT_EQ(failure(start("echo", std::string(1001, 'x'))), ErrorCode::kRequestBodyTooLarge);
  EXPECT_EQ(failure(start("echo", std::string(kMaxMessageBytes + 1, 'x'))), ErrorCode::kRequestBodyTooLarge);
  EXPECT_TRUE(start("echo", std::string(1000, 'x')).get());
}

TEST_F(Rpc, HostileFramesAreIgnoredAndCounted) {
  start_server();
  void* context = ::zmq_ctx_new();
  void* raw = ::zmq_socket(context, ZMQ_DEALER);
  int linger = 0;
  ::zmq_setsockopt(raw, ZMQ_LINGER, &linger, sizeof(linger));
  ASSERT_EQ(::zmq_connect(raw, options_.endpoint.c_str()), 0);
  auto id = encode_id(1);
  const std::vector<std::vector<std::string>> hostile{{""},
                                                      {id},
                                                      {id, "echo"},
                                                      {"short", "echo", ""},
                                                      {id, "", ""},
                                                      {id, std::string(65, 'm'), ""},
                                                      {id, "echo", "", ""}};
  for (const auto& frames : hostile) {
    for (std::size_t i = 0; i < frames.size(); ++i) {
      ::zmq_send(raw, frames[i].data(), frames[i].size(), i + 1 < frames.size() ? ZMQ_SNDMORE : 0);
    }
  }
  auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (server_->counters().malformed < hostile.size() && std::chrono::steady_clock::now() < limit) {
    std::this_thread::yield();
  }
  EXPECT_EQ(server_->counters().malformed, hostile.size());
  EXPECT_TRUE(start("echo", "").get());
  ::zmq_close(raw);
  ::zmq_ctx_term(context);
}

/// The notifications of a hook, which may still come after the test's end.
struct Told {
  std::mutex mutex;
  std::vector<std::pair<std::string, std::string>> calls;
  bool any() {
    std::lock_guard lock(mutex);
    return !calls.empty();
  }
};

Task<void> note(std::shared_ptr<Told> told, std::string request, std::string reply) {
  std::lock_guard lock(told->mutex);
  told->calls.emplace_back(std::move(request), std::move(reply));
  co_return;
}

TEST_F(Rpc, TellsOfRepliesThatFindNoCaller) {
  auto told = std::make_shared<Told>();
  options_.undelivered = {"hold", [told](std::string request, std::string reply) {
                            return note(told, std::move(request), std::move(reply));
                          }};
  start_server();
  // It is up to the kernel whether the server knows already that the caller has gone, so it gets several callers.
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (int i = 0; !told->any() && std::chrono::steady_clock::now() < limit; ++i) {
    hold = true;
    const auto calls = server_->counters().calls;
    auto abandoned = start("hold", std::to_string(i));
    wait_until([&] { return server_->counters().calls != calls; });
    client_.reset();
    EXPECT_EQ(failure(std::move(abandoned)), ErrorCode::kCancelled);
    EXPECT_EQ(value(start("echo", "x")), "x");
    hold = false;
    EXPECT_EQ(value(start("echo", "y")), "y");
  }
  ASSERT_TRUE(told->any());
  std::lock_guard lock(told->mutex);
  EXPECT_EQ(told->calls[0].second, "reply to " + told->calls[0].first);
}

TEST_F(Rpc, SocketIsPrivateRefusesASecondServerAndGoesAtStop) {
  start_server();
  struct stat found{};
  ASSERT_EQ(::lstat(path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
  EXPECT_TRUE(serve(options_, io_.get_executor(), answer).failed_with(ErrorCode::kConfigInvalid));
  server_->stop();
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(Rpc, WrongEndpointsAreConfigurationErrors) {
  for (const auto& endpoint :
       {std::string("tcp://127.0.0.1:1"), "ipc:///" + std::string(107, 'x'), std::string("ipc://@x")}) {
    options_.endpoint = endpoint;
    client_.reset();
    EXPECT_TRUE(serve(options_, io_.get_executor(), answer).failed_with(ErrorCode::kConfigInvalid));
    EXPECT_EQ(failure(start("echo", "")), ErrorCode::kConfigInvalid);
  }
}

TEST_F(Rpc, DestroyingTheClientCancelsItsCalls) {
  start_server();
  auto pending = start("hang", "");
  wait_until([&] { return server_->counters().calls >= 1; });
  client_.reset();
  EXPECT_EQ(failure(std::move(pending)), ErrorCode::kCancelled);
}

Task<void> hang_on(std::shared_ptr<Transport> client) {
  std::ignore = co_await client->call("hang", "", milliseconds(60000));
}

TEST_F(Rpc, AClosedClientDoesNotOutliveTheExecutorOfACallThatOwnsIt) {
  start_server();
  std::shared_ptr<Transport> client = connect(options_.endpoint);
  const std::weak_ptr<Transport> watched = client;
  {
    asio::io_context callers;
    asio::co_spawn(callers, hang_on(client), asio::detached);
    while (server_->counters().calls < 1) callers.poll();
    client->close();
    client.reset();
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace tidemark::rpc
