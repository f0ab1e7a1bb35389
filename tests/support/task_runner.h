// Coroutines that a test runs on its own thread.
#pragma once
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>

#include "common/base/async.h"

namespace tidemark {

/// A base of fixtures whose parts live on one executor.
class TaskRunner {
 protected:
  /// Runs a task, and everything that it started, to the end.
  template <class T>
  T run(Task<T> task) {
    std::optional<T> out;
    spawn(std::move(task), out);
    run_background();
    return std::move(*out);
  }
  /// Runs a task to its end; work that it started may go on for longer.
  template <class T>
  T answer(Task<T> task) {
    std::optional<T> out;
    spawn(std::move(task), out);
    io_.restart();
    while (!out && io_.run_one() > 0) {
    }
    return std::move(*out);
  }
  void run_background() {
    io_.restart();
    io_.run();
  }

  asio::io_context io_;

 private:
  template <class T>
  void spawn(Task<T> task, std::optional<T>& out) {
    asio::co_spawn(io_, std::move(task), [&out](const std::exception_ptr& thrown, T value) {
      EXPECT_FALSE(thrown);
      out.emplace(std::move(value));
    });
  }
};

/// The same for one task on an executor of its own.
template <class T>
T run_task(Task<T> task) {
  struct Once : TaskRunner {
    using TaskRunner::run;
  };
  return Once().run(std::move(task));
}

}  // namespace tidemark
