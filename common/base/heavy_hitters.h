// Finds the most frequent keys of a stream in bounded memory: the space-saving sketch. When there are too many keys, a
// new key replaces the rarest one and starts from its count. So a count is never too small, and too large by `error` at
// most. Each key that makes up more than one part in `capacity` of the stream is found. For one thread.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace tidemark {

template <class Key, class Hash = std::hash<Key>>
class HeavyHitters {
 public:
  struct Hitter {
    Key key;
    std::uint64_t count = 0, error = 0;
    /// The number of times that the key has certainly occurred.
    [[nodiscard]] std::uint64_t at_least() const { return count - error; }
  };

  explicit HeavyHitters(std::size_t capacity) : capacity_(capacity) {}

  void add(Key key) {
    if (const auto known = places_.find(key); known != places_.end()) {
      ++hitters_[known->second].count;
    } else if (hitters_.size() < capacity_) {
      places_.emplace(key, hitters_.size());
      hitters_.push_back({std::move(key), 1, 0});
    } else {
      replace_rarest(std::move(key));
    }
  }

  /// Returns the most frequent keys, in descending order.
  [[nodiscard]] std::vector<Hitter> most(std::size_t count) const {
    auto out = hitters_;
    std::ranges::sort(out, [](const Hitter& a, const Hitter& b) { return a.at_least() > b.at_least(); });
    if (out.size() > count) out.resize(count);
    return out;
  }

 private:
  void replace_rarest(Key key) {
    auto& rarest = *std::ranges::min_element(hitters_, {}, &Hitter::count);
    const auto place = places_.extract(rarest.key).mapped();
    rarest = {key, rarest.count + 1, rarest.count};
    places_.emplace(std::move(key), place);
  }

  std::size_t capacity_;
  std::vector<Hitter> hitters_;
  std::unordered_map<Key, std::size_t, Hash> places_;
};

}  // namespace tidemark
