// The events of a run, as a hash that two runs of one seed must agree on, and as text on request. One thread.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/time.h"

namespace tidemark::simulation {

class Trace {
 public:
  explicit Trace(bool print) : print_(print) {}

  /// Hashes `what` and `bytes`; `detail` is called only when the trace is printed.
  void note(Time at, std::string_view what, std::string_view bytes, const std::function<std::string()>& detail);
  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  [[nodiscard]] std::uint64_t notes() const { return notes_; }

  /// Notes a broken invariant. The first one ends the run.
  void violation(Time at, std::string text);
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

 private:
  void mix(std::string_view bytes);
  bool print_;
  std::uint64_t hash_ = 1469598103934665603ULL;
  std::uint64_t notes_ = 0;
  std::vector<std::string> violations_;
};

}  // namespace tidemark::simulation
