// A queue service over the in-memory engine with a clock that the test moves.
#pragma once
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "queue_service/client/queue_client.h"
#include "queue_service/internal/queue_dispatch.h"
#include "queue_service/storage/queue_service.h"
#include "tests/support/fake_clock.h"
#include "tests/support/loopback.h"
#include "tests/support/memory_engine.h"
#include "tests/support/seeded_random.h"

namespace tidemark::queue_service {

class QueueTest : public testing::Test {
 protected:
  template <class T>
  T run(Task<T> task) {
    std::optional<T> result = poll(start(std::move(task)));
    EXPECT_TRUE(result.has_value()) << "the operation did not finish";
    return std::move(*result);
  }
  /// Starts the task without waiting for its end.
  template <class T>
  std::shared_ptr<std::optional<T>> start(Task<T> task) {
    auto slot = started(std::move(task));
    settle();
    return slot;
  }
  /// The same from within a task: it begins with the next turn.
  template <class T>
  std::shared_ptr<std::optional<T>> started(Task<T> task) {
    auto slot = std::make_shared<std::optional<T>>();
    asio::co_spawn(io_, std::move(task), [slot](std::exception_ptr failure, T value) {
      ASSERT_FALSE(failure);
      slot->emplace(std::move(value));
    });
    return slot;
  }
  template <class T>
  std::optional<T> poll(const std::shared_ptr<std::optional<T>>& slot) {
    settle();
    return std::move(*slot);
  }
  void settle() {
    io_.restart();
    io_.poll();
  }
  void advance(Duration by) {
    clock_.advance(by);
    settle();
  }

  asio::io_context io_;
  FakeClock clock_;
  std::unique_ptr<Random> random_ = make_seeded_random(7);
  std::unique_ptr<kv::Engine> engine_ = kv::make_memory_engine();
  QueueService service_{*engine_, clock_, *random_};
  rpc::Loopback transport_{make_queue_dispatch(service_)};
  QueueClient client_{transport_, "acc"};
};

}  // namespace tidemark::queue_service
