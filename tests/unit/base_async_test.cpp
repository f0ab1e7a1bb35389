#include <gtest/gtest.h>

#include "common/base/async.h"

namespace tidemark {
namespace {

Task<void> wait_for(Signal& signal, Clock& clock, Duration timeout, std::vector<bool>& outcomes) {
  outcomes.push_back(co_await signal.wait(clock, timeout));
}

Task<void> sleep_then(Clock& clock, Duration delay, std::vector<int>& order, int mark) {
  co_await sleep_for(clock, delay);
  order.push_back(mark);
}

class Async : public ::testing::Test {
 protected:
  asio::io_context io_;
  std::unique_ptr<Clock> clock_ = make_system_clock();
};

TEST_F(Async, SleepersWakeInTheOrderOfTheirDelays) {
  std::vector<int> order;
  // Long enough that no pause of the machine between the two reverses their order.
  spawn(io_.get_executor(), sleep_then(*clock_, std::chrono::milliseconds(500), order, 2));
  spawn(io_.get_executor(), sleep_then(*clock_, std::chrono::milliseconds(1), order, 1));
  io_.run();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST_F(Async, ASignalWakesThoseWhoWaitAndTheOthersTimeOut) {
  Signal signal;
  std::vector<bool> outcomes;
  spawn(io_.get_executor(), wait_for(signal, *clock_, std::chrono::hours(1), outcomes));
  spawn(io_.get_executor(), wait_for(signal, *clock_, std::chrono::hours(1), outcomes));
  while (signal.waiting() < 2) io_.run_one();
  signal.notify_all();
  io_.run();
  EXPECT_EQ(outcomes, (std::vector<bool>{true, true}));

  io_.restart();
  spawn(io_.get_executor(), wait_for(signal, *clock_, std::chrono::milliseconds(1), outcomes));
  io_.run();
  EXPECT_FALSE(outcomes.back());
  EXPECT_EQ(signal.waiting(), 0U);
}

TEST_F(Async, WhatComesBetweenATicketAndItsWaitIsNotMissed) {
  Signal signal;
  const auto ticket = signal.ticket();
  signal.notify_all();
  std::vector<bool> outcomes;
  const auto wait = [&](Signal::Ticket with, Duration timeout) -> Task<void> {
    outcomes.push_back(co_await signal.wait(with, *clock_, timeout));
  };
  spawn(io_.get_executor(), wait(ticket, std::chrono::hours(1)));
  spawn(io_.get_executor(), wait(signal.ticket(), std::chrono::milliseconds(1)));
  io_.run();
  EXPECT_EQ(outcomes, (std::vector<bool>{true, false}));
}

TEST_F(Async, ANotificationFromAnotherThreadWakes) {
  Signal signal;
  std::vector<bool> outcomes;
  spawn(io_.get_executor(), wait_for(signal, *clock_, std::chrono::hours(1), outcomes));
  std::thread notifier([&] {
    while (signal.waiting() == 0) std::this_thread::yield();
    signal.notify_all();
  });
  io_.run();
  notifier.join();
  EXPECT_EQ(outcomes, std::vector<bool>{true});
}

}  // namespace
}  // namespace tidemark
