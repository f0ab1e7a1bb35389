// Random numbers that are the same in every run.
#pragma once
#include <memory>
#include <random>

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

}  // namespace tidemark
