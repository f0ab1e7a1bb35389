// The most frequent names in the transactions of a shard, from a sample: for people who ask why the shard is busy.
// Bounded memory. Thread safe.
#pragma once
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/heavy_hitters.h"
#include "common/base/mutex.h"

namespace tidemark::shards {

class HotNames {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  /// The name that decides a row's shard: a queue, a table and a partition, or a container and a blob.
  struct Name {
    std::string account, name, part;
    bool operator==(const Name&) const = default;
  };
  struct Hot {
    Name name;
    double per_s = 0;  // transactions; the least number that the sample shows
  };

  /// One in this many transactions is sampled. The choice follows no pattern that a client could also have.
  static constexpr std::uint64_t kSampled = 16;
  static constexpr std::chrono::seconds kWindow{20};

  /// Notes that a transaction for this name begins. Costs a few nanoseconds, and about a hundred if it is sampled.
  void wrote(std::string_view account, std::string_view name, std::string_view part = {}) {
    if (samples()) add({std::string(account), std::string(name), std::string(part)}, std::chrono::steady_clock::now());
  }
  /// Counts a sampled transaction.
  void add(Name name, TimePoint now);
  /// Returns the hottest names first: those of the last full window or, as long as there is none, of the current one.
  [[nodiscard]] std::vector<Hot> most(std::size_t count, TimePoint now);

 private:
  static constexpr std::size_t kWatched = 64;
  struct HashOfName {
    std::size_t operator()(const Name& name) const;
  };
  using Sketch = HeavyHitters<Name, HashOfName>;

  static bool samples();
  void begin_window(TimePoint now) REQUIRES(mutex_);

  Mutex mutex_;
  Sketch window_ GUARDED_BY(mutex_){kWatched};
  Sketch last_ GUARDED_BY(mutex_){kWatched};
  std::chrono::duration<double> last_took_ GUARDED_BY(mutex_){};  // 0: there was none
  TimePoint began_ GUARDED_BY(mutex_) = std::chrono::steady_clock::now();
};

}  // namespace tidemark::shards
