#include "common/shards/hot_names.h"

#include <utility>

namespace tidemark::shards {
namespace {

using std::chrono::duration;

/// Counts over a shorter time are not reported, because their rate means nothing.
constexpr duration<double> kShortest{1};

}  // namespace

std::size_t HotNames::HashOfName::operator()(const Name& name) const {
  const std::hash<std::string> hash;
  return (hash(name.account) * 31 + hash(name.name)) * 31 + hash(name.part);
}

/// Takes the steps of splitmix64, so that a client that alternates between sixteen queues is seen at all of them.
bool HotNames::samples() {
  static thread_local std::uint64_t state = 0;
  auto mixed = state += 0x9E3779B97F4A7C15U;
  mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
  return (mixed ^ (mixed >> 31U)) % kSampled == 0;
}

void HotNames::add(Name name, TimePoint now) {
  const MutexLock lock(mutex_);
  begin_window(now);
  window_.add(std::move(name));
}

/// Begins a window if the current one is over. Names that were not written meanwhile are forgotten.
void HotNames::begin_window(TimePoint now) {
  const auto age = now - began_;
  if (age < kWindow) return;
  last_ = age < 2 * kWindow ? std::exchange(window_, Sketch(kWatched)) : Sketch(kWatched);
  window_ = Sketch(kWatched);
  last_took_ = age < 2 * kWindow ? duration<double>(age) : duration<double>(kWindow);
  began_ = now;
}

std::vector<HotNames::Hot> HotNames::most(std::size_t count, TimePoint now) {
  const MutexLock lock(mutex_);
  begin_window(now);
  const bool whole = last_took_ > duration<double>::zero();
  const auto took = whole ? last_took_ : duration<double>(now - began_);
  if (took < kShortest) return {};
  std::vector<Hot> out;
  for (auto& hitter : (whole ? last_ : window_).most(count)) {
    out.push_back({std::move(hitter.key), static_cast<double>(hitter.at_least() * kSampled) / took.count()});
  }
  return out;
}

}  // namespace tidemark::shards
