// Random numbers that are the same in every run.
#pragma once
#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "common/base/mutex.h"
#include "common/base/random.h"

namespace tidemark {

class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t next() override {
    MutexLock lock(mutex_);
    return engine_();
  }

 private:
  Mutex mutex_;
  std::mt19937_64 engine_ GUARDED_BY(mutex_);
};

inline std::unique_ptr<Random> make_seeded_random(std::uint64_t seed) { return std::make_unique<SeededRandom>(seed); }

inline std::string random_bytes(Random& random, std::size_t size) {
  std::string out(size, '\0');
  for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
    const auto some = random.next();
    std::memcpy(out.data() + at, &some, std::min(sizeof some, size - at));
  }
  return out;
}

}  // namespace tidemark
