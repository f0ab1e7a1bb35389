// Limits the lines of a log per second, so that a failing disk does not fill another one. Thread safe.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "common/base/mutex.h"

namespace tidemark::process {

class LineLimit {
 public:
  explicit LineLimit(int lines_per_second) : lines_per_second_(lines_per_second) {}

  /// Nothing if this line is one too many; otherwise the number of lines that were left out before it.
  std::optional<std::uint64_t> admit() {
    const auto now = std::chrono::steady_clock::now();
    const MutexLock lock(mutex_);
    if (now - begun_ >= std::chrono::seconds(1)) {
      begun_ = now;
      written_ = 0;
    }
    if (written_ == lines_per_second_) {
      ++left_out_;
      return std::nullopt;
    }
    ++written_;
    return std::exchange(left_out_, 0);
  }

 private:
  const int lines_per_second_;
  Mutex mutex_;
  std::chrono::steady_clock::time_point begun_ GUARDED_BY(mutex_);
  int written_ GUARDED_BY(mutex_) = 0;
  std::uint64_t left_out_ GUARDED_BY(mutex_) = 0;
};

}  // namespace tidemark::process
