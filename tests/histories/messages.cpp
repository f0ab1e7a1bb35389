#include "tests/histories/messages.h"

#include "tests/histories/search.h"
#include "tests/histories/shrinking.h"

namespace tidemark::histories {
namespace {

using Life = MessageModel::State::Life;

/// Stands for the receipt in an answer that was lost: no request ever carries it.
constexpr Token kReceiptOfNobody = kAnything;

bool writes(const MessageOperation& operation) {
  return operation.verb == MessageVerb::kPut || operation.verb == MessageVerb::kUpdate ||
         operation.verb == MessageVerb::kErase;
}

std::string shown(const MessageOperation& operation) {
  static constexpr const char* kNames[] = {"put", "receive", "peek", "update", "delete", "queue emptied: not found"};
  std::string text = kNames[static_cast<int>(operation.verb)];
  if (operation.receipt != kNothing) text += " by receipt " + std::to_string(operation.receipt);
  if (operation.text != kNothing) text += " text w" + std::to_string(operation.text);
  if (operation.count > 0) text += " count " + std::to_string(operation.count);
  if (operation.given != kNothing) text += " gives receipt " + std::to_string(operation.given);
  if (operation.hidden_for > 0) text += " hidden for " + std::to_string(operation.hidden_for / 1000) + " ms";
  if (!writes(operation)) return text;
  return text + ": " + (operation.outcome == Outcome::kUnknown ? "unknown" : name_of(operation.refusal));
}

struct MessageLoosening {
  static bool constrains_by_its_answer_alone(const MessageOperation& operation) {
    return operation.outcome == Outcome::kRefused || operation.verb == MessageVerb::kPeek ||
           operation.verb == MessageVerb::kMiss;
  }
  static MessageOperation loosened(MessageOperation operation) {
    operation.outcome = Outcome::kUnknown;
    operation.returned = kForever;
    return operation;
  }
  /// A receive always stays: it took effect, and other operations carry the receipt that it gave out.
  static bool stays(const MessageOperation& operation) { return operation.verb == MessageVerb::kReceive; }
  static bool names(const MessageOperation& operation, const MessageOperation& write) {
    const auto same = [](Token one, Token other) { return one != kNothing && one == other; };
    return same(operation.text, write.text) || same(operation.receipt, write.given) ||
           same(operation.given, write.receipt);
  }
};

Judgement searched(const std::vector<MessageOperation>& operations, Moment slack, std::uint64_t most_steps) {
  const MessageModel model(slack);
  Search search(model, operations);
  Judgement judgement;
  judgement.verdict = search.run(most_steps);
  judgement.steps = search.steps();
  return judgement;
}

}  // namespace

Fingerprint MessageModel::State::fingerprint() const {
  return fingerprint_of({static_cast<std::uint64_t>(life), text, receipt, count, static_cast<std::uint64_t>(now),
                         static_cast<std::uint64_t>(hidden_until)});
}

bool MessageModel::become_visible(State& state) const {
  if (state.life != Life::kThere) return false;
  state.now = std::max(state.now, state.hidden_until);
  return true;
}

bool MessageModel::done(State& state, const MessageOperation& operation) const {
  const bool holds = state.life == Life::kThere && state.receipt == operation.receipt;
  // The store reads its clock after the call. By the clocks of other processes, the lease may end earlier by the slack.
  const auto hide = [&] { state.hidden_until = operation.invoked + operation.hidden_for - slack_; };
  const bool unknown = operation.outcome == Outcome::kUnknown;
  switch (operation.verb) {
    case MessageVerb::kPut:
      if (state.life != Life::kNotYet) return unknown;
      state.life = Life::kThere;
      state.text = operation.text;
      state.receipt = unknown ? kReceiptOfNobody : operation.given;
      hide();
      return true;
    case MessageVerb::kReceive:
      if (!become_visible(state) || state.text != operation.text || state.count >= operation.count) return false;
      state.receipt = operation.given;
      state.count = operation.count;
      hide();
      return true;
    case MessageVerb::kPeek:
      return become_visible(state) && state.text == operation.text;
    case MessageVerb::kUpdate:
      if (!holds) return unknown;
      state.receipt = unknown ? kReceiptOfNobody : operation.given;
      state.text = operation.text == kNothing ? state.text : operation.text;
      hide();
      return true;
    case MessageVerb::kErase:
      if (!holds) return unknown;
      state.life = Life::kGone;
      return true;
    case MessageVerb::kMiss:
      return state.life != Life::kThere;
  }
  return false;
}

bool MessageModel::step(State& state, const MessageOperation& operation) const {
  state.now = std::max(state.now, operation.invoked);
  if (operation.outcome != Outcome::kRefused) return done(state, operation) && state.now <= operation.returned;
  const bool holds = state.life == Life::kThere && state.receipt == operation.receipt;
  return state.now <= operation.returned && (!holds || operation.may_be_taken);
}

Judgement judge(const std::vector<MessageOperation>& operations, Moment slack, std::uint64_t most_steps) {
  auto judgement = searched(operations, slack, most_steps);
  if (judgement.verdict != Verdict::kWrong) return judgement;
  ShrinkingEffort effort;
  const auto wrong = [&](const std::vector<MessageOperation>& some) {
    return effort.finds_wrong([&](std::uint64_t steps) { return searched(some, slack, steps); });
  };
  std::vector<Line> lines;
  for (const auto& operation : fewest_operations<MessageLoosening>(operations, wrong)) {
    lines.push_back({operation.invoked, operation.returned, operation.client, shown(operation)});
  }
  judgement.story = "no order of these explains what was seen of the message:\n" + told(std::move(lines));
  return judgement;
}

}  // namespace tidemark::histories
