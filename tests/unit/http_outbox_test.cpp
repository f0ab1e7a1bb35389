// The moment at which answers leave, over loopback connections and one thread that runs step by step.
#include <gtest/gtest.h>

#include "common/http/outbox.h"

namespace tidemark::http {
namespace {

using asio::ip::tcp;

class OutboxTest : public ::testing::Test {
 protected:
  struct Connection {
    explicit Connection(asio::io_context& io) : server(io), client(io) {
      tcp::acceptor acceptor(io, {asio::ip::address_v4::loopback(), 0});
      client.connect(acceptor.local_endpoint());
      acceptor.accept(server);
      server.non_blocking(true);
      client.non_blocking(true);
    }
    std::string received() {
      std::array<char, 256> bytes;
      boost::system::error_code none_yet;
      return {bytes.data(), client.read_some(asio::buffer(bytes), none_yet)};
    }
    Socket server;
    tcp::socket client;
  };

  /// Answers as a connection does once its request is handled.
  Task<void> answer(Connection& connection, std::string text, bool& alive) {
    std::string_view first = text, second = "!";
    alive = co_await outbox_.send(connection.server, first, second);
    left_over_ = first.size() + second.size();
  }
  void run(Connection& connection, const std::string& text, bool& alive) {
    auto task = answer(connection, text, alive);
    spawn(io_.get_executor(), std::move(task));
  }

  asio::io_context io_{1};
  Outbox outbox_{io_};
  std::size_t left_over_ = 0;
};

TEST_F(OutboxTest, AnswersOfARoundLeaveTogetherAtItsEnd) {
  Connection one(io_), two(io_);
  bool first = false, second = false;
  std::string seen_meanwhile = "not looked";
  run(one, "one", first);
  asio::post(io_, [&] { seen_meanwhile = one.received(); });
  run(two, "two", second);
  io_.poll();
  EXPECT_EQ(seen_meanwhile, "");
  EXPECT_TRUE(first && second);
  EXPECT_EQ(one.received(), "one!");
  EXPECT_EQ(two.received(), "two!");
  EXPECT_EQ(left_over_, 0U);
}

TEST_F(OutboxTest, AnAnswerDoesNotWaitForTheEndOfALongRound) {
  Connection one(io_), two(io_);
  bool first = false, second = false;
  std::string seen_meanwhile;
  run(one, "one", first);
  asio::post(io_, [] {
    const auto until = std::chrono::steady_clock::now() + Outbox::kLongestWait;
    while (std::chrono::steady_clock::now() < until) continue;
  });
  run(two, "two", second);
  asio::post(io_, [&] {
    EXPECT_FALSE(first) << "the round had ended: nothing was tested";
    seen_meanwhile = one.received();
  });
  io_.poll();
  EXPECT_EQ(seen_meanwhile, "one!");
  EXPECT_EQ(two.received(), "two!");
  EXPECT_TRUE(first && second);
}

TEST_F(OutboxTest, AConnectionThatIsGoneFailsAloneInItsRound) {
  Connection gone(io_), there(io_);
  bool first = true, second = false;
  run(gone, "one", first);
  asio::post(io_, [&] { gone.server.close(); });
  run(there, "two", second);
  io_.poll();
  EXPECT_FALSE(first);
  EXPECT_TRUE(second);
  EXPECT_EQ(there.received(), "two!");
}

TEST_F(OutboxTest, TheNextRoundIsSentToo) {
  Connection one(io_);
  bool alive = false;
  for (const std::string text : {"a", "b", "c"}) {
    run(one, text, alive);
    io_.restart();
    io_.poll();
    EXPECT_EQ(one.received(), text + "!");
  }
}

TEST_F(OutboxTest, WhatTheSocketDoesNotTakeStays) {
  Connection one(io_);
  bool alive = false;
  const std::string large(64UL << 20, 'x');
  run(one, large, alive);
  io_.poll();
  EXPECT_TRUE(alive);
  EXPECT_GT(left_over_, 0U);
  EXPECT_LT(left_over_, large.size() + 1);
}

}  // namespace
}  // namespace tidemark::http
