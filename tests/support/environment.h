// Settings that repeat a random test or make it longer. TIDEMARK_SEED repeats a run; scripts/test takes it from the
// commit. TIDEMARK_TEST_FACTOR multiplies the sizes; it is 1 in the gate, and scripts/test --all sets 10.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>

namespace tidemark {

/// The seed of a random test: the same for all tests of a run.
inline std::uint64_t test_seed() {
  const char* text = std::getenv("TIDEMARK_SEED");
  return text == nullptr ? std::random_device()() : std::strtoull(text, nullptr, 10);
}

/// Returns the number of steps of a random test that takes this many in the gate.
inline std::uint64_t test_size(std::uint64_t usual) {
  const char* text = std::getenv("TIDEMARK_TEST_FACTOR");
  const double factor = text == nullptr ? 1.0 : std::strtod(text, nullptr);
  return static_cast<std::uint64_t>(std::ceil(static_cast<double>(usual) * factor));
}

}  // namespace tidemark
