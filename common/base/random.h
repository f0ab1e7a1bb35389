// Random numbers: from the system in production, from a seeded generator in tests and the simulation.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace tidemark {

/// Thread safe.
class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t next() = 0;
  /// Uniform in [0, bound); bound > 0.
  std::uint64_t below(std::uint64_t bound);
  /// A random (version 4) GUID, lower case, 8-4-4-4-12.
  std::string guid();
};

std::unique_ptr<Random> make_system_random();

}  // namespace tidemark
