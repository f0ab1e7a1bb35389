// What the transactions of a shard are about most, from a sample of them: for people who ask why it is busy. Bounded
// memory. Thread safe.
#pragma once
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/heavy_hitters.h"
#include "common/base/mutex.h"

namespace tidemark::kv {

class HotNames {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  /// By what a row's shard is chosen: a queue, a table and a partition, or a container and a blob.
  struct Name {
    std::string account, name, part;
    bool operator==(const Name&) const = default;
  };
  struct Hot {
    Name name;
    double per_s = 0;  // transactions, at least so many as far as the sample tells
  };

  /// One transaction in so many is looked at. Which ones follows no pattern that a client could have, too.
  static constexpr std::uint64_t kSampled = 16;
  static constexpr std::chrono::seconds kWindow{20};

  /// A transaction about this name begins. Costs a few nanoseconds, and for those that are looked at about a hundred.
  void wrote(std::string_view account, std::string_view name, std::string_view part = {}) {
    if (samples()) add({std::string(account), std::string(name), std::string(part)}, std::chrono::steady_clock::now());
  }
  /// One that is looked at.
  void add(Name name, TimePoint now);
  /// The hottest first: of the last full window or, as long as there is none, of the one that has begun.
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

}  // namespace tidemark::kv
