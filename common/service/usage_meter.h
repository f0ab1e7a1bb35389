// Measures the use of a store: requests of each table, queue or container, and the busiest partitions. Only a name that
// exists and was asked for by an authorized caller has a series of its own; the number of series is bounded, and the
// rest is counted together as "(other)". Thread safe.
#pragma once
#include <array>
#include <chrono>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/analytics/log_record.h"
#include "common/base/heavy_hitters.h"
#include "common/base/mutex.h"
#include "common/process/config.h"
#include "common/process/metrics.h"

namespace tidemark::service {

struct UsageSettings {
  std::int64_t max_names = 100;
  std::int64_t hot_partitions = 10;
};
void declare(process::Settings& settings, UsageSettings& values);

/// The names of a store's parts, as the labels of its metrics.
struct UsageLabels {
  std::string name;       // such as "table"
  std::string partition;  // such as "partition"; empty: the units are the partitions
};

class UsageMeter {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  /// A partition, with its account and its table, queue or container.
  struct Part {
    std::string account, name, partition;
    bool operator==(const Part&) const = default;
  };

  UsageMeter(UsageLabels labels, const UsageSettings& settings, process::Metrics& metrics);

  /// Records a request by an authorized caller. A name exists if a request of it succeeded.
  void record(std::string_view account, std::string_view name, analytics::Access access, unsigned status,
              std::chrono::steady_clock::duration taken);
  /// Tells whether this request is in the sample, where it stands for others. Costs nearly nothing.
  [[nodiscard]] bool samples() const;
  /// Counts a request of the sample that succeeded.
  void sample(Part part, TimePoint now);

  [[nodiscard]] std::vector<prometheus::MetricFamily> figures(TimePoint now);

 private:
  static constexpr std::size_t kAccesses = 3;
  static constexpr std::size_t kFamilies = 5;  // of statuses
  static constexpr std::size_t kShards = 8;
  static constexpr std::size_t kMostOfShard = 2048;  // names between two scrapes

  struct Counts {
    std::array<std::array<std::uint64_t, kFamilies>, kAccesses> requests{};
    std::uint64_t us = 0;
    void add(const Counts& other);
    [[nodiscard]] std::uint64_t sum() const;
  };
  struct Name {
    std::string account, name;  // the name in lower case
    auto operator<=>(const Name&) const = default;
  };
  struct Recent {
    Name name;
    Counts counts;  // since the last scrape
  };
  struct Total {
    Counts counts;
    double use = 0;  // the number of requests, in which older ones count less
  };
  /// Each thread has a shard of its own, as far as there are enough.
  struct alignas(64) Shard {
    Mutex mutex;
    std::unordered_map<std::uint64_t, Recent> names GUARDED_BY(mutex);
    Counts others GUARDED_BY(mutex);
  };
  struct PartHash {
    std::size_t operator()(const Part& part) const;
  };
  using Sketch = HeavyHitters<Part, PartHash>;
  static constexpr std::size_t kWatchedForEachShown = 16;
  [[nodiscard]] std::size_t sketch_capacity() const {
    return std::max<std::size_t>(1, hot_partitions_ * kWatchedForEachShown);
  }

  void gather() REQUIRES(mutex_);
  void forget_rarest() REQUIRES(mutex_);
  void begin_window(TimePoint now) REQUIRES(mutex_);
  void add_requests(std::vector<prometheus::MetricFamily>& out) REQUIRES(mutex_);
  void add_partitions(std::vector<prometheus::MetricFamily>& out) REQUIRES(mutex_);

  const UsageLabels labels_;
  const std::size_t max_names_, hot_partitions_;
  std::array<Shard, kShards> shards_;
  Mutex mutex_;
  std::map<Name, Total> totals_ GUARDED_BY(mutex_);
  Counts others_ GUARDED_BY(mutex_);
  Sketch window_ GUARDED_BY(mutex_);
  std::vector<Sketch::Hitter> hottest_ GUARDED_BY(mutex_);  // of the window before
  TimePoint window_began_ GUARDED_BY(mutex_);
  std::shared_ptr<process::Figures> figures_;
};

}  // namespace tidemark::service
