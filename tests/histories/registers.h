// Rows that are written and read together: the entities of a partition, of which a group changes several at once and a
// query shows all; or a blob, which is one row. What is there is known by the token of the write that left it. An ETag
// stands for the token of what it was given out with.
#pragma once
#include <map>
#include <optional>

#include "tests/histories/history.h"

namespace tidemark::histories {

using Row = std::uint16_t;

struct Content {
  Token version = kNothing;  // the last write's; nothing: there is no such row; of what was seen, anything: it is there
  Token whole = kNothing;    // the last write's that was no merge
  friend bool operator==(const Content&, const Content&) = default;
};

enum class Verb { kInsert, kReplace, kMerge, kPut, kPutMerged, kErase };

struct Change {
  Verb verb = Verb::kPut;
  Row row = 0;
  Token token = kNothing;      // what it leaves
  Token expected = kAnything;  // what it must find
};

/// What a read asks for: rows from one to another, or of these only those of a shade, a property with few values.
struct Asked {
  static constexpr Token kShades = 4;
  Row first = 0, last = std::numeric_limits<Row>::max();
  std::optional<Token> shade;
  [[nodiscard]] bool matches(Row row, const Content& content) const {
    return row >= first && row <= last && content.version != kNothing &&
           (!shade || content.version % kShades == *shade);
  }
};

struct RegisterOperation {
  Moment invoked = 0, returned = kForever;
  int client = 0;
  std::vector<Change> changes;  // done as one; none: it reads
  Outcome outcome = Outcome::kOk;
  Refusal refusal = Refusal::kNone;
  Asked asked;
  std::map<Row, Content> seen;  // all that was asked for
  const char* how = "read";     // of a read: "get", "query", "list"
};

class Registers {
 public:
  using Operation = RegisterOperation;

  class State {
   public:
    explicit State(std::size_t rows) : rows_(rows) {}
    [[nodiscard]] const Content& at(Row row) const { return rows_[row]; }
    [[nodiscard]] std::size_t size() const { return rows_.size(); }
    void set(Row row, Content content);
    [[nodiscard]] Fingerprint fingerprint() const { return fingerprint_; }

   private:
    std::vector<Content> rows_;
    Fingerprint fingerprint_;
  };

  /// Of as many rows as the operations speak of.
  explicit Registers(const std::vector<Operation>& operations);
  [[nodiscard]] State initial() const { return State(rows_); }
  [[nodiscard]] bool step(State& state, const Operation& operation) const;

 private:
  std::size_t rows_ = 0;
};

/// Nothing was there before the first operation. Of reads, only those that were answered belong here.
Judgement judge(const std::vector<RegisterOperation>& operations, std::uint64_t most_steps = kMostSteps);

/// Whether each client reads its own writes, and never something older than what it has read: a story if not. An order
/// of all operations has this anyway, since it keeps to the times of answers and calls, whether something was read
/// alone, in a query or in a list. But this needs no search, so it also judges what a search does not, and tells its
/// story in three lines. What was written before what is taken from times, and from what a write expected to find.
std::optional<std::string> broken_session(const std::vector<RegisterOperation>& operations);

}  // namespace tidemark::histories
