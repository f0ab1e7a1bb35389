// Histories: the operations of clients, from their call to their answer, and stories of them for people.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

namespace tidemark::histories {

/// Microseconds of one clock that all clients read.
using Moment = std::int64_t;
/// The return of an operation of unknown outcome, which may take effect at any time, or never.
inline constexpr Moment kForever = std::numeric_limits<Moment>::max();

/// Identifies a write, and the state that it left: no two writes have the same token.
using Token = std::uint32_t;
inline constexpr Token kNothing = 0;
inline constexpr Token kAnything = std::numeric_limits<Token>::max();

enum class Outcome {
  kOk,
  kRefused,  // certainly not done
  kUnknown,
};
/// The reason of a refusal.
enum class Refusal {
  kNone,
  kExists,
  kAbsent,
  kMismatch,  // the row is another version than expected, or absent
};

const char* name_of(Refusal refusal);

/// Two hashes side by side, so wide that two different states never have the same hashes by chance.
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

/// One line of a story: the times, the client, and its operation.
struct Line {
  Moment invoked = 0, returned = kForever;
  int client = 0;
  std::string text;
};
/// Returns the lines as text, in order, with times since the first.
std::string told(std::vector<Line> lines);

enum class Verdict {
  kRight,
  kWrong,
  kNotJudged,  // the search would take too long
};

struct Judgement {
  Verdict verdict = Verdict::kRight;
  std::string story;        // as few operations as show the fault
  std::uint64_t steps = 0;  // of the search
};

/// The most steps of a search in the history of one object.
inline constexpr std::uint64_t kMostSteps = 300'000;

}  // namespace tidemark::histories
