#include "common/base/random.h"

#include <random>

namespace tidemark {
namespace {

// Seeded per thread from the operating system; for ids only, never for key material.
class SystemRandom final : public Random {
 public:
  std::uint64_t next() override {
    thread_local std::mt19937_64 engine = [] {
      std::random_device device;
      std::seed_seq seed{device(), device(), device(), device(), device(), device(), device(), device()};
      return std::mt19937_64(seed);
    }();
    return engine();
  }
};

}  // namespace

std::uint64_t Random::below(std::uint64_t bound) {
  const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  for (;;) {
    auto value = next();
    if (value < limit) return value % bound;
  }
}

std::string Random::guid() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::uint64_t words[2] = {next(), next()};
  words[0] = (words[0] & ~0xF000ULL) | 0x4000ULL;
  words[1] = (words[1] & ~(3ULL << 62)) | (2ULL << 62);
  std::string out(36, '-');
  char* at = out.data();
  for (int i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) ++at;
    *at++ = kDigits[(words[i / 16] >> (60 - 4 * (i % 16))) & 0xF];
  }
  return out;
}

std::unique_ptr<Random> make_system_random() { return std::make_unique<SystemRandom>(); }

}  // namespace tidemark
