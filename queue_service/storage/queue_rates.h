// The rates at which messages come and go, from figures seen at different times. They are only hints: rates are 0 until
// there are two figures that are far enough apart. Thread safe.
#pragma once
#include <unordered_map>
#include <utility>

#include "common/base/mutex.h"
#include "queue_service/storage/queue_records.h"

namespace tidemark::queue_service {

class Rates {
 public:
  /// Returns the messages in and out per second, since figures that are at most about two minutes old.
  std::pair<double, double> seen(std::uint64_t generation, const FiguresRecord& figures, Time now) {
    const Sighting sighting{now, figures.put, figures.finished + figures.moved};
    MutexLock lock(mutex_);
    if (sightings_.size() >= kMaxQueues && !sightings_.contains(generation)) sightings_.clear();
    auto& [older, newer] = sightings_[generation];
    if (newer.at == Time{} || now < newer.at) older = newer = sighting;
    if (now - newer.at >= kWindow) older = std::exchange(newer, sighting);
    const auto seconds = std::chrono::duration<double>(now - older.at).count();
    if (seconds < 1) return {0, 0};
    return {static_cast<double>(sighting.in - older.in) / seconds,
            static_cast<double>(sighting.out - older.out) / seconds};
  }

 private:
  static constexpr std::size_t kMaxQueues = 10000;
  static constexpr Duration kWindow = std::chrono::seconds(60);
  struct Sighting {
    Time at{};
    std::uint64_t in = 0, out = 0;
  };
  Mutex mutex_;
  std::unordered_map<std::uint64_t, std::pair<Sighting, Sighting>> sightings_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::queue_service
