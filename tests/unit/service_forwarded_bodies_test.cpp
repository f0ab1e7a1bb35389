// Bodies that go from process to process in pieces: whole, one piece at a time, and never one that nobody wants.
#include "common/service/forwarded_bodies.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <optional>

#include "tests/support/standing_clock.h"

namespace tidemark::service {
namespace {

using forwarded::Progress;

/// Stands, unless its time is set to pass at once.
class PassingClock final : public StandingClock {
 public:
  std::shared_ptr<Timer> call_after(Duration, Executor executor, std::function<void()> fn) override {
    if (passes) asio::post(executor, std::move(fn));
    return nullptr;
  }
  bool passes = false;
};

/// Pieces that hold their own numbers.
class Numbers final : public http::BodySource {
 public:
  explicit Numbers(int count) : count_(count) {}
  Task<Result<std::string>> next() override {
    if (number_ == count_) co_return std::string();
    co_return std::string(300'000, static_cast<char>('0' + number_++));
  }

 private:
  const int count_;
  int number_ = 0;
};

class ForwardedBodiesTest : public ::testing::Test {
 protected:
  /// Runs one task while others may go on waiting.
  template <class T>
  T run(Task<T> task) {
    std::optional<T> out;
    asio::co_spawn(io_, std::move(task), [&](const std::exception_ptr& thrown, T value) {
      EXPECT_FALSE(thrown);
      out.emplace(std::move(value));
    });
    io_.restart();
    while (!out) io_.run_one();
    return std::move(*out);
  }
  void run_background() {
    io_.restart();
    io_.poll();
  }

  void TearDown() override {
    bodies_.end();
    run_background();
  }
  Task<http::Response> serve(http::Request& request) {
    http::Response response;
    while (wanted_-- > 0) {
      const auto piece = co_await request.body->read_some(200'000);
      if (!piece) outcome_ = piece.error().code;
      if (!piece || piece->empty()) break;
      got_ += *piece;
      EXPECT_LE(piece->size(), 200'000U);
    }
    response.body = "got " + std::to_string(got_.size());
    co_return response;
  }
  Result<Progress> begin() {
    forwarded::Request request;
    request.sender = "sender";
    request.method = "PUT";
    request.target = "/a/b";
    return run(bodies_.begin(std::move(request)));
  }
  Result<Progress> give(const Progress& to, std::uint64_t number, std::string bytes, bool last = false) {
    return run(bodies_.take({to.upload, number, last, std::move(bytes)}));
  }
  static http::Response with_source(int pieces) {
    http::Response response;
    response.source = std::make_unique<Numbers>(pieces);
    response.source_length = pieces * 300'000;
    return response;
  }

  asio::io_context io_;
  PassingClock clock_;
  int wanted_ = 1000;
  std::string got_;
  std::optional<ErrorCode> outcome_;
  bool lives_ = true;
  ForwardedBodies bodies_{clock_, io_.get_executor(), [this](http::Request& request) { return serve(request); },
                          [this](const std::string& process) { return lives_ && process == "sender"; }};
};

TEST_F(ForwardedBodiesTest, ABodyComesPieceByPiece) {
  auto progress = begin();
  ASSERT_TRUE(progress);
  std::string sent;
  for (std::uint64_t number = 0; number < 4; ++number) {
    ASSERT_FALSE(progress->response);
    const std::string piece(500'000, static_cast<char>('a' + number));
    sent += piece;
    progress = give(*progress, number, piece, number == 3);
    ASSERT_TRUE(progress);
  }
  ASSERT_TRUE(progress->response);
  EXPECT_EQ(progress->response->body, "got 2000000");
  EXPECT_EQ(got_, sent);
}

TEST_F(ForwardedBodiesTest, WhoeverAnswersBeforeTheEndIsHeardAtOnce) {
  wanted_ = 1;
  const auto begun = begin();
  const auto progress = give(*begun, 0, std::string(100'000, 'x'));
  ASSERT_TRUE(progress && progress->response);
  EXPECT_EQ(progress->response->body, "got 100000");
  EXPECT_TRUE(give(*begun, 1, "more").failed_with(ErrorCode::kServerBusy)) << "nothing is known of it any more";
}

TEST_F(ForwardedBodiesTest, APieceIsTakenOnce) {
  const auto begun = begin();
  ASSERT_TRUE(give(*begun, 0, "first"));
  EXPECT_TRUE(give(*begun, 0, "first").failed_with(ErrorCode::kInternalError));
  EXPECT_TRUE(give(*begun, 2, "third").failed_with(ErrorCode::kInternalError));
  EXPECT_TRUE(give(*begun, 1, "second", true)->response);
  EXPECT_EQ(got_, "firstsecond");
}

TEST_F(ForwardedBodiesTest, AClientThatGoesAwayEndsItsRequest) {
  const auto begun = begin();
  ASSERT_TRUE(give(*begun, 0, "first"));
  bodies_.drop(begun->upload);
  run_background();
  EXPECT_EQ(outcome_, ErrorCode::kServerBusy);
  EXPECT_TRUE(give(*begun, 1, "second").failed_with(ErrorCode::kServerBusy));
}

TEST_F(ForwardedBodiesTest, AnAnswerGoesPieceByPiece) {
  const auto told = run(bodies_.keep(with_source(5), "sender"));
  ASSERT_TRUE(told);
  EXPECT_TRUE(told->streamed);
  EXPECT_EQ(told->length, 1'500'000U);
  auto all = told->body;
  for (std::uint64_t number = 0;; ++number) {
    const auto piece = run(bodies_.next({told->rest, number}));
    ASSERT_TRUE(piece);
    if (piece->empty()) break;
    EXPECT_LE(piece->size(), 900'000U);
    all += *piece;
  }
  ASSERT_EQ(all.size(), 1'500'000U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(all[i * 300'000], static_cast<char>('0' + i));
  EXPECT_TRUE(run(bodies_.next({told->rest, 3})).failed_with(ErrorCode::kServerBusy));
}

TEST_F(ForwardedBodiesTest, NoPieceOfAnAnswerIsGivenTwice) {
  const auto told = run(bodies_.keep(with_source(9), "sender"));
  ASSERT_TRUE(run(bodies_.next({told->rest, 0})));
  EXPECT_TRUE(run(bodies_.next({told->rest, 0})).failed_with(ErrorCode::kInternalError));
  EXPECT_TRUE(run(bodies_.next({told->rest, 1})));
}

TEST_F(ForwardedBodiesTest, AShortAnswerIsToldAtOnce) {
  const auto told = run(bodies_.keep(with_source(1), "sender"));
  EXPECT_TRUE(told->streamed);
  EXPECT_TRUE(told->rest.empty());
  EXPECT_EQ(told->body.size(), 300'000U);
}

TEST_F(ForwardedBodiesTest, WhatAProcessPassedOnThatIsGoneIsForgotten) {
  const auto begun = begin();
  lives_ = false;
  clock_.passes = true;
  ASSERT_TRUE(give(*begun, 0, "the last that it sent"));
  run_background();
  EXPECT_EQ(outcome_, ErrorCode::kOperationTimedOut);
  const auto told = run(bodies_.keep(with_source(9), "sender"));
  run_background();
  EXPECT_TRUE(run(bodies_.next({told->rest, 0})).failed_with(ErrorCode::kServerBusy));
}

TEST_F(ForwardedBodiesTest, TheEndOfTheProcessEndsAll) {
  const auto begun = begin();
  const auto told = run(bodies_.keep(with_source(9), "sender"));
  bodies_.end();
  run_background();
  EXPECT_EQ(outcome_, ErrorCode::kServerBusy);
  EXPECT_TRUE(run(bodies_.next({told->rest, 0})).failed_with(ErrorCode::kServerBusy));
  EXPECT_TRUE(begin().failed_with(ErrorCode::kServerBusy));
}

}  // namespace
}  // namespace tidemark::service
