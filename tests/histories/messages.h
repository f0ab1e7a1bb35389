// One message of a queue, from its put to its end: delivered at least once, never after an acknowledged delete, and
// never while somebody holds its lease. Numbers stand for receipts, and the tokens of writes for texts.
#pragma once
#include "tests/histories/history.h"

namespace tidemark::histories {

enum class MessageVerb {
  kPut,
  kReceive,
  kPeek,
  kUpdate,
  kErase,
  kMiss,  // the queue was emptied long after all leases had ended, and the message was not in it
};

struct MessageOperation {
  Moment invoked = 0, returned = kForever;
  int client = 0;
  MessageVerb verb = MessageVerb::kPut;
  Outcome outcome = Outcome::kOk;
  Refusal refusal = Refusal::kNone;
  Token text = kNothing;      // written or shown
  Token receipt = kNothing;   // the receipt that the request carries
  Token given = kNothing;     // the receipt that the answer gives out
  Moment hidden_for = 0;      // how long the operation hides the message
  std::uint32_t count = 0;    // of deliveries, as a receive shows it
  bool may_be_taken = false;  // a receive whose answer was lost may have taken the message
};

class MessageModel {
 public:
  using Operation = MessageOperation;

  struct State {
    enum class Life { kNotYet, kThere, kGone } life = Life::kNotYet;
    Token text = kNothing, receipt = kNothing;
    std::uint32_t count = 0;
    Moment now = std::numeric_limits<Moment>::min();  // the earliest moment at which all operations so far can be done
    Moment hidden_until = now;                        // the earliest moment at which the message can be visible
    [[nodiscard]] Fingerprint fingerprint() const;
  };

  /// `slack`: by how much the clocks of the processes that keep the messages may differ.
  explicit MessageModel(Moment slack) : slack_(slack) {}
  [[nodiscard]] State initial() const { return {}; }
  [[nodiscard]] bool step(State& state, const Operation& operation) const;

 private:
  [[nodiscard]] bool done(State& state, const Operation& operation) const;
  bool become_visible(State& state) const;

  Moment slack_;
};

/// Judges all operations on one message, without receives and peeks that got no answer: nobody knows which messages
/// those would have shown.
Judgement judge(const std::vector<MessageOperation>& operations, Moment slack, std::uint64_t most_steps = kMostSteps);

}  // namespace tidemark::histories
