// Counts how many values fall below each of some fixed bounds, for metrics. Thread safe: two relaxed additions a value.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace tidemark {

/// Values are in a unit of the caller's choice, such as microseconds.
class Histogram {
 public:
  static constexpr std::size_t kMostBounds = 20;

  struct Counts {
    std::vector<std::uint64_t> buckets;  // values up to each bound and above the previous one; the last has the rest
    std::uint64_t sum = 0;               // of the values

    [[nodiscard]] std::uint64_t values() const {
      std::uint64_t all = 0;
      for (const auto each : buckets) all += each;
      return all;
    }
    void add(const Counts& other) {
      buckets.resize(std::max(buckets.size(), other.buckets.size()));
      for (std::size_t i = 0; i < other.buckets.size(); ++i) buckets[i] += other.buckets[i];
      sum += other.sum;
    }
  };

  /// Ascending bounds, kMostBounds at most, which live as long as the program.
  explicit constexpr Histogram(std::span<const std::uint64_t> bounds) : bounds_(bounds) {}

  void observe(std::uint64_t value) {
    const auto bucket = static_cast<std::size_t>(std::ranges::lower_bound(bounds_, value) - bounds_.begin());
    buckets_[bucket].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
  }

  [[nodiscard]] Counts counts() const {
    Counts out;
    out.buckets.reserve(bounds_.size() + 1);
    for (std::size_t i = 0; i <= bounds_.size(); ++i) {
      out.buckets.push_back(buckets_[i].load(std::memory_order_relaxed));
    }
    out.sum = sum_.load(std::memory_order_relaxed);
    return out;
  }

 private:
  const std::span<const std::uint64_t> bounds_;
  std::array<std::atomic<std::uint64_t>, kMostBounds + 1> buckets_{};
  std::atomic<std::uint64_t> sum_{0};
};

}  // namespace tidemark
