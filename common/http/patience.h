// How long a peer may keep the server waiting while bytes move. The peer begins with a grace period, and each byte
// earns time back, up to the grace period. A peer that is slower than the slowest allowed rate uses up its grace,
// however it spreads its bytes. Pure; for one thread.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>

namespace tidemark::http {

using SteadyTime = std::chrono::steady_clock::time_point;

class Patience {
 public:
  using Span = std::chrono::nanoseconds;
  Patience(Span grace, std::uint64_t slowest_bytes_per_s)
      : grace_(grace), left_(grace), slowest_(std::max<std::uint64_t>(1, slowest_bytes_per_s)) {}

  void renew() { left_ = grace_; }
  /// The server begins to wait, until `bytes` have moved if that is known. Returns when it will have waited too long.
  SteadyTime begin(SteadyTime now, std::uint64_t bytes = 0) {
    began_ = now;
    return now + left_ + worth(bytes);
  }
  /// The wait is over, and this many bytes have moved.
  void end(SteadyTime now, std::uint64_t bytes) {
    left_ = std::clamp<Span>(left_ + worth(bytes) - (now - began_), Span::zero(), grace_);
  }

 private:
  [[nodiscard]] Span worth(std::uint64_t bytes) const {
    constexpr std::uint64_t kMost = 1UL << 33;  // more bytes are worth more than any grace, and would overflow
    return Span(static_cast<std::int64_t>(std::min(bytes, kMost) * 1'000'000'000 / slowest_));
  }

  Span grace_;
  Span left_;
  std::uint64_t slowest_;
  SteadyTime began_{};
};

}  // namespace tidemark::http
