#include "tests/histories/registers.h"

#include <set>

#include "tests/histories/search.h"
#include "tests/histories/shrinking.h"

namespace tidemark::histories {
namespace {

bool reads(const RegisterOperation& operation) { return operation.changes.empty(); }

Refusal refusal_of(const Change& change, const Content& there) {
  const bool absent = there.version == kNothing;
  switch (change.verb) {
    case Verb::kInsert:
      return absent ? Refusal::kNone : Refusal::kExists;
    case Verb::kPut:
    case Verb::kPutMerged:
      return Refusal::kNone;
    case Verb::kReplace:
    case Verb::kMerge:
    case Verb::kErase:
      if (absent) return Refusal::kAbsent;
      return change.expected == kAnything || change.expected == there.version ? Refusal::kNone : Refusal::kMismatch;
  }
  return Refusal::kNone;
}

Content left_by(const Change& change, const Content& there) {
  if (change.verb == Verb::kErase) return {};
  const bool merges = change.verb == Verb::kMerge || change.verb == Verb::kPutMerged;
  return {change.token, merges ? there.whole : change.token};
}

bool explains(const Refusal& found, const Refusal& answered) {
  if (answered == Refusal::kMismatch) return found == Refusal::kMismatch || found == Refusal::kAbsent;
  return found == answered;
}

bool shows(const Registers::State& state, const RegisterOperation& read) {
  auto seen = read.seen.begin();
  const auto end = std::min<std::size_t>(state.size(), read.asked.last + std::size_t{1});
  for (std::size_t i = read.asked.first; i < end; ++i) {
    const auto row = static_cast<Row>(i);
    if (!read.asked.matches(row, state.at(row))) continue;
    if (seen == read.seen.end() || seen->first != row) return false;
    if (seen->second.version != kAnything && seen->second != state.at(row)) return false;
    ++seen;
  }
  return seen == read.seen.end();
}

bool shows(const RegisterOperation& operation, Token token) {
  return std::ranges::any_of(
      operation.seen, [&](const auto& seen) { return seen.second.version == token || seen.second.whole == token; });
}

bool speaks_of(const RegisterOperation& operation, Token token) {
  return shows(operation, token) || std::ranges::any_of(operation.changes, [&](const Change& change) {
           return change.token == token || change.expected == token;
         });
}

/// Ends each write of unknown outcome that somebody has seen at the time of the first sight: it was done by then.
std::vector<RegisterOperation> with_what_was_seen(std::vector<RegisterOperation> operations) {
  std::map<Token, Moment> first_seen;
  for (const auto& operation : operations) {
    for (const auto& [row, content] : operation.seen) {
      for (const auto token : {content.version, content.whole}) {
        auto& moment = first_seen.try_emplace(token, operation.returned).first->second;
        moment = std::min(moment, operation.returned);
      }
    }
  }
  for (auto& operation : operations) {
    if (operation.outcome != Outcome::kUnknown) continue;
    for (const auto& change : operation.changes) {
      const auto seen = first_seen.find(change.token);
      if (change.verb == Verb::kErase || seen == first_seen.end() || seen->second < operation.invoked) continue;
      operation.outcome = Outcome::kOk;
      operation.returned = std::min(operation.returned, seen->second);
    }
  }
  return operations;
}

std::vector<Row> rows_of(const std::vector<RegisterOperation>& operations) {
  std::set<Row> rows;
  for (const auto& operation : operations) {
    for (const auto& change : operation.changes) rows.insert(change.row);
    for (const auto& seen : operation.seen) rows.insert(seen.first);
  }
  return {rows.begin(), rows.end()};
}

/// The observations that an unanswered write can explain although nobody has seen its token: that a row is there, or
/// absent, or that a version was expected.
class Unexplained {
 public:
  explicit Unexplained(const std::vector<RegisterOperation>& operations) {
    const auto rows = rows_of(operations);
    for (const auto& operation : operations) {
      for (const auto& change : operation.changes) add(operation, change);
      if (reads(operation)) add_read(operation, rows);
    }
  }

  [[nodiscard]] bool needs(const RegisterOperation& write) const {
    return std::ranges::any_of(write.changes, [&](const Change& change) {
      const auto& rows = change.verb == Verb::kErase ? absent_ : present_;
      return rows.contains(change.row) || expected_.contains(change.token);
    });
  }

 private:
  void add(const RegisterOperation& operation, const Change& change) {
    const bool refused = operation.outcome == Outcome::kRefused;
    const bool conditional =
        change.verb == Verb::kReplace || change.verb == Verb::kMerge || change.verb == Verb::kErase;
    const bool done = operation.outcome == Outcome::kOk;
    if (refused || (done && conditional)) present_.insert(change.row);
    if (refused || change.verb == Verb::kInsert || change.verb == Verb::kPutMerged) absent_.insert(change.row);
    if (change.expected != kAnything) expected_.insert(change.expected);
  }
  void add_read(const RegisterOperation& read, const std::vector<Row>& rows) {
    for (const auto row : rows) {
      if (row < read.asked.first || row > read.asked.last || read.seen.contains(row)) continue;
      absent_.insert(row);
      if (read.asked.shade) present_.insert(row);  // it may be there with another shade
    }
  }

  std::set<Row> present_, absent_;
  std::set<Token> expected_;
};

/// Leaves out open operations that explain nothing: an order that has one of them stays valid without it.
std::vector<RegisterOperation> without_what_explains_nothing(std::vector<RegisterOperation> operations) {
  const Unexplained unexplained(operations);
  std::erase_if(operations, [&](const RegisterOperation& operation) {
    return operation.returned == kForever && !unexplained.needs(operation);
  });
  return operations;
}

Judgement searched(const std::vector<RegisterOperation>& operations, std::uint64_t most_steps) {
  const auto known = without_what_explains_nothing(with_what_was_seen(operations));
  const Registers model(known);
  Search search(model, known);
  Judgement judgement;
  judgement.verdict = search.run(most_steps);
  judgement.steps = search.steps();
  return judgement;
}

/// Returns the same history of only some of the rows. Another row may have been the reason of a refusal.
std::vector<RegisterOperation> within(const std::vector<RegisterOperation>& operations, const std::vector<Row>& rows) {
  const std::set<Row> kept(rows.begin(), rows.end());
  const auto lost = [&](const auto& row) { return !kept.contains(row); };
  std::vector<RegisterOperation> out;
  for (auto operation : operations) {
    const bool writes = !reads(operation);
    if (writes && operation.outcome == Outcome::kRefused && operation.changes.size() > 1) continue;
    std::erase_if(operation.changes, [&](const Change& change) { return lost(change.row); });
    std::erase_if(operation.seen, [&](const auto& seen) { return lost(seen.first); });
    if (writes && operation.changes.empty()) continue;
    if (operation.asked.first == operation.asked.last && lost(operation.asked.first) && !writes) continue;
    out.push_back(std::move(operation));
  }
  return out;
}

std::string shown(Row row, const Content& content) {
  std::string text = "r" + std::to_string(row) + "=w" + std::to_string(content.version);
  if (content.whole != content.version) text += "(over w" + std::to_string(content.whole) + ")";
  return text;
}

std::string shown(const Change& change) {
  static constexpr const char* kNames[] = {"insert", "replace", "merge", "put", "put-merged", "erase"};
  auto text = std::string(kNames[static_cast<int>(change.verb)]) + " r" + std::to_string(change.row);
  if (change.verb != Verb::kErase) text += "=w" + std::to_string(change.token);
  if (change.expected != kAnything) text += " if w" + std::to_string(change.expected);
  return text;
}

std::string shown(const RegisterOperation& operation) {
  std::string text;
  if (!reads(operation)) {
    for (const auto& change : operation.changes) text += (text.empty() ? "" : ", ") + shown(change);
    return text + ": " + (operation.outcome == Outcome::kUnknown ? "unknown" : name_of(operation.refusal));
  }
  const auto& asked = operation.asked;
  text = operation.how;
  if (asked.first == asked.last) text += " r" + std::to_string(asked.first);
  if (asked.shade) text += " of shade " + std::to_string(*asked.shade);
  text += ":";
  for (const auto& [row, content] : operation.seen) text += " " + shown(row, content);
  return text + (operation.seen.empty() ? " nothing" : "");
}

std::string story_of(const std::vector<RegisterOperation>& operations) {
  std::vector<Line> lines;
  for (const auto& operation : operations) {
    lines.push_back({operation.invoked, operation.returned, operation.client, shown(operation)});
  }
  return told(std::move(lines));
}

struct Loosening {
  static bool constrains_by_its_answer_alone(const RegisterOperation& operation) {
    return reads(operation) || operation.outcome == Outcome::kRefused;
  }
  static RegisterOperation loosened(RegisterOperation operation) {
    operation.outcome = Outcome::kUnknown;
    operation.returned = kForever;
    return operation;
  }
  static bool stays(const RegisterOperation&) { return false; }
  static bool names(const RegisterOperation& operation, const RegisterOperation& write) {
    return std::ranges::any_of(write.changes, [&](const Change& change) {
      return change.verb != Verb::kErase && speaks_of(operation, change.token);
    });
  }
};

/// Cuts off the beginning of a history. Operations before a write that replaces all rows, while no other write is under
/// way, don't matter: the history begins with the last such write from which on it is still wrong.
template <class Wrong>
std::vector<RegisterOperation> begun_after(const std::vector<RegisterOperation>& operations, const Wrong& wrong) {
  const auto all_rows = rows_of(operations).size();
  std::vector<Moment> beginnings;
  for (const auto& write : operations) {
    const bool replaces = std::ranges::all_of(write.changes, [](const auto& each) { return each.verb == Verb::kPut; });
    const bool alone = std::ranges::none_of(operations, [&](const RegisterOperation& other) {
      return !reads(other) && other.returned != kForever && other.invoked < write.invoked &&
             other.returned >= write.invoked;
    });
    if (replaces && alone && write.changes.size() == all_rows && write.outcome == Outcome::kOk) {
      beginnings.push_back(write.invoked);
    }
  }
  std::ranges::sort(beginnings, std::greater());
  for (const auto beginning : beginnings) {
    auto rest = operations;
    std::erase_if(rest, [&](const auto& each) { return each.invoked < beginning && each.returned != kForever; });
    if (wrong(rest)) return rest;
  }
  return operations;
}

std::string smallest_story(std::vector<RegisterOperation> operations) {
  ShrinkingEffort effort;
  const auto wrong = [&](const std::vector<RegisterOperation>& some) {
    return effort.finds_wrong([&](std::uint64_t most_steps) { return searched(some, most_steps); });
  };
  operations = begun_before<Loosening>(std::move(operations), wrong);
  const auto rows = fewest(rows_of(operations), [&](const auto& some) { return wrong(within(operations, some)); });
  return story_of(fewest_operations<Loosening>(begun_after(within(operations, rows), wrong), wrong));
}

}  // namespace

void Registers::State::set(Row row, Content content) {
  for (const auto& one : {rows_[row], content}) {
    if (one.version != kNothing) fingerprint_ ^= fingerprint_of({row, one.version, one.whole});
  }
  rows_[row] = content;
}

Registers::Registers(const std::vector<RegisterOperation>& operations) {
  const auto rows = rows_of(operations);
  rows_ = rows.empty() ? 0 : rows.back() + std::size_t{1};
}

bool Registers::step(State& state, const RegisterOperation& operation) const {
  if (reads(operation)) return shows(state, operation);
  bool refused = false;
  bool explained = false;
  for (const auto& change : operation.changes) {
    const auto refusal = refusal_of(change, state.at(change.row));
    refused = refused || refusal != Refusal::kNone;
    explained = explained || (refusal != Refusal::kNone && explains(refusal, operation.refusal));
  }
  if (operation.outcome == Outcome::kRefused) return explained;
  if (refused) return operation.outcome == Outcome::kUnknown;
  for (const auto& change : operation.changes) state.set(change.row, left_by(change, state.at(change.row)));
  return true;
}

Judgement judge(const std::vector<RegisterOperation>& operations, std::uint64_t most_steps) {
  auto judgement = searched(operations, most_steps);
  if (auto story = broken_session(operations)) {
    judgement.verdict = Verdict::kWrong;
    judgement.story = std::move(*story);
  } else if (judgement.verdict == Verdict::kWrong) {
    judgement.story = "no order of these explains what was seen:\n" + smallest_story(operations);
  }
  return judgement;
}

}  // namespace tidemark::histories
