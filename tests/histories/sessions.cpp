#include <algorithm>
#include <set>
#include <tuple>

#include "tests/histories/registers.h"

namespace tidemark::histories {
namespace {

struct Write {
  Moment invoked = 0, returned = kForever;
  int client = 0;
  Token expected = kAnything;
};

/// All writes of one row.
struct WritesOfRow {
  std::map<Token, Write> left;
  std::vector<Write> erased;
};

using Writes = std::map<Row, WritesOfRow>;

Writes writes_of(const std::vector<RegisterOperation>& operations) {
  Writes out;
  for (const auto& operation : operations) {
    if (operation.outcome == Outcome::kRefused) continue;
    const auto returned = operation.outcome == Outcome::kOk ? operation.returned : kForever;
    for (const auto& change : operation.changes) {
      const Write write{operation.invoked, returned, operation.client, change.expected};
      auto& row = out[change.row];
      if (change.verb == Verb::kErase) row.erased.push_back(write);
      if (change.verb != Verb::kErase) row.left[change.token] = write;
    }
  }
  return out;
}

/// Tells whether the row had version `one` before version `other`, and cannot have had it again afterwards.
bool is_older(const WritesOfRow& row, Token one, Token other) {
  const auto second = row.left.find(other);
  if (one == other || second == row.left.end()) return false;
  if (one == kNothing) {
    return std::ranges::all_of(row.erased, [&](const Write& erase) { return erase.returned < second->second.invoked; });
  }
  const auto first = row.left.find(one);
  if (first == row.left.end()) return false;
  return first->second.returned < second->second.invoked || second->second.expected == one;
}

struct Known {
  Token token = kNothing;
  Moment at = 0;
  const char* how = nullptr;  // how the client learned it; null: it knows nothing yet
};

class Session {
 public:
  Session(int client, const Writes& writes) : client_(client), writes_(writes) {}

  std::optional<std::string> next(const RegisterOperation& operation) {
    if (!operation.changes.empty()) {
      if (operation.outcome == Outcome::kOk) wrote(operation);
      return std::nullopt;
    }
    for (const auto& [row, writes] : writes_) {
      const auto& asked = operation.asked;
      if (row < asked.first || row > asked.last) continue;
      const auto seen = operation.seen.find(row);
      if (seen == operation.seen.end() && asked.shade) continue;  // the row may be there with another shade
      const auto token = seen == operation.seen.end() ? kNothing : seen->second.version;
      auto& known = known_[row];
      if (known.how != nullptr && is_older(writes, token, known.token)) return story(row, known, token, operation);
      known = {token, operation.returned, operation.how};
    }
    return std::nullopt;
  }

 private:
  void wrote(const RegisterOperation& operation) {
    for (const auto& change : operation.changes) {
      known_[change.row] = {change.verb == Verb::kErase ? kNothing : change.token, operation.returned, "its own write"};
    }
  }

  [[nodiscard]] std::string story(Row row, const Known& known, Token token, const RegisterOperation& read) const {
    const auto name = "r" + std::to_string(row);
    const auto version = [](Token of) { return of == kNothing ? std::string("nothing") : "w" + std::to_string(of); };
    std::vector<Line> lines;
    const auto& writes = writes_.at(row).left;
    for (const auto written : {token, known.token}) {
      const auto write = writes.find(written);
      if (write == writes.end()) continue;
      const auto& [invoked, returned, client, expected] = write->second;
      const auto condition = expected == kAnything ? "" : " if " + version(expected);
      lines.push_back({invoked, returned, client, "write " + name + "=" + version(written) + condition});
    }
    lines.push_back(
        {known.at, known.at, client_, std::string(known.how) + " shows " + name + "=" + version(known.token)});
    lines.push_back(
        {read.invoked, read.returned, client_, std::string(read.how) + " shows " + name + "=" + version(token)});
    return "client " + std::to_string(client_) + " is shown something older than before:\n" + told(std::move(lines));
  }

  int client_;
  const Writes& writes_;
  std::map<Row, Known> known_;
};

}  // namespace

std::optional<std::string> broken_session(const std::vector<RegisterOperation>& operations) {
  const auto writes = writes_of(operations);
  std::map<int, std::vector<const RegisterOperation*>> sessions;
  for (const auto& operation : operations) sessions[operation.client].push_back(&operation);
  for (auto& [client, its_own] : sessions) {
    std::ranges::stable_sort(its_own, {}, &RegisterOperation::invoked);
    Session session(client, writes);
    for (const auto* operation : its_own) {
      if (auto story = session.next(*operation)) return story;
    }
  }
  return std::nullopt;
}

}  // namespace tidemark::histories
