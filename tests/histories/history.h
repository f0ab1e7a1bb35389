// What clients did and saw: operations from their call to their answer, and how they are told to people.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

namespace tidemark::histories {

/// Microseconds of one clock that all clients read.
using Moment = std::int64_t;
/// When an operation returned of which nobody knows whether it was done: it may take effect at any time, or never.
inline constexpr Moment kForever = std::numeric_limits<Moment>::max();

/// Names what one write left: no two writes have the same.
using Token = std::uint32_t;
inline constexpr Token kNothing = 0;
inline constexpr Token kAnything = std::numeric_limits<Token>::max();

enum class Outcome {
  kOk,
  kRefused,  // it was not done
  kUnknown,
};
/// Why it was refused.
enum class Refusal {
  kNone,
  kExists,
  kAbsent,
  kMismatch,  // what is there, if anything, is not what was expected
};

const char* name_of(Refusal refusal);

/// Two hashes side by side: of as many as are ever compared, no two are the same by chance.
struct Fingerprint {
  std::uint64_t one = 0, two = 0;
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
  Fingerprint& operator^=(const Fingerprint& other) {
    one ^= other.one;
    two ^= other.two;
    return *this;
  }
};
Fingerprint fingerprint_of(std::initializer_list<std::uint64_t> words);

struct HashOfFingerprint {
  std::size_t operator()(const Fingerprint& fingerprint) const { return fingerprint.one; }
};

/// One line of a story: when, who, and what.
struct Line {
  Moment invoked = 0, returned = kForever;
  int client = 0;
  std::string text;
};
/// The lines in order, with times since the first.
std::string told(std::vector<Line> lines);

enum class Verdict {
  kRight,
  kWrong,
  kNotJudged,  // the search would take too long
};

struct Judgement {
  Verdict verdict = Verdict::kRight;
  std::string story;        // of what is wrong: as few operations as show it
  std::uint64_t steps = 0;  // of the search
};

/// Of one object.
inline constexpr std::uint64_t kMostSteps = 300'000;

}  // namespace tidemark::histories
