// One message of a queue, from its put to its end: delivered at least once, never after an acknowledged delete, and
// never while somebody has it. Receipts are known by numbers, texts by the token of the write that gave them.
#pragma once
#include "tests/histories/history.h"

namespace tidemark::histories {

enum class MessageVerb {
  kPut,
  kReceive,
  kPeek,
  kUpdate,
  kErase,
  kMiss,  // somebody emptied the queue, long after all leases had ended, and it was not there
};

struct MessageOperation {
  Moment invoked = 0, returned = kForever;
  int client = 0;
  MessageVerb verb = MessageVerb::kPut;
  Outcome outcome = Outcome::kOk;
  Refusal refusal = Refusal::kNone;
  Token text = kNothing;      // given, or shown
  Token receipt = kNothing;   // which it comes with
  Token given = kNothing;     // that was given out
  Moment hidden_for = 0;      // from then on
  std::uint32_t count = 0;    // of deliveries, as a receive shows it
  bool may_be_taken = false;  // by a receive whose answer was lost
};

class MessageModel {
 public:
  using Operation = MessageOperation;

  struct State {
    enum class Life { kNotYet, kThere, kGone } life = Life::kNotYet;
    Token text = kNothing, receipt = kNothing;
    std::uint32_t count = 0;
    Moment now = std::numeric_limits<Moment>::min();  // the earliest moment at which all this can have been done
    Moment hidden_until = now;                        // at least
    [[nodiscard]] Fingerprint fingerprint() const;
  };

  /// `slack`: by how much the clocks of those who keep the messages may differ.
  explicit MessageModel(Moment slack) : slack_(slack) {}
  [[nodiscard]] State initial() const { return {}; }
  [[nodiscard]] bool step(State& state, const Operation& operation) const;

 private:
  [[nodiscard]] bool done(State& state, const Operation& operation) const;
  bool become_visible(State& state) const;

  Moment slack_;
};

/// All operations on one message. Without receives and peeks that were not answered: whose these were nobody knows.
Judgement judge(const std::vector<MessageOperation>& operations, Moment slack, std::uint64_t most_steps = kMostSteps);

}  // namespace tidemark::histories
