// Rows that are written and read together: the entities of a partition, where a group changes several at once and a
// query shows all; or a blob, which is one row. The token of the write that left it stands for the content of a row,
// and an ETag stands for the token of the content that it was given out with.
#pragma once
#include <map>
#include <optional>

#include "tests/histories/history.h"

namespace tidemark::histories {

using Row = std::uint16_t;

struct Content {
  Token version = kNothing;  // of the last write; kNothing: there is no such row; in a read, kAnything: any version
  Token whole = kNothing;    // of the last write that was no merge
  friend bool operator==(const Content&, const Content&) = default;
};

enum class Verb { kInsert, kReplace, kMerge, kPut, kPutMerged, kErase };

struct Change {
  Verb verb = Verb::kPut;
  Row row = 0;
  Token token = kNothing;      // the version that it leaves
  Token expected = kAnything;  // the version that it must find
};

/// The rows that a read asks for: a range of rows, or only those in it of one shade, a property with few values.
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
  std::vector<Change> changes;  // one atomic group; empty: a read
  Outcome outcome = Outcome::kOk;
  Refusal refusal = Refusal::kNone;
  Asked asked;
  std::map<Row, Content> seen;  // all rows that the read found
  const char* how = "read";     // the kind of read: "get", "query", "list"
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

  /// A model of as many rows as the operations name.
  explicit Registers(const std::vector<Operation>& operations);
  [[nodiscard]] State initial() const { return State(rows_); }
  [[nodiscard]] bool step(State& state, const Operation& operation) const;

 private:
  std::size_t rows_ = 0;
};

/// Judges a history that begins without any rows. Reads without an answer must be left out.
Judgement judge(const std::vector<RegisterOperation>& operations, std::uint64_t most_steps = kMostSteps);

/// Checks that each client reads its own writes, and never something older than it has read before; returns a story if
/// not. An order of all operations implies this, since it keeps to the times of answers and calls, for point reads,
/// queries and lists alike. But this check needs no search, so it also judges histories that are too hard to search,
/// and its story has three lines. It takes the order of two writes from their times, or from the version that the later
/// one expected to find.
std::optional<std::string> broken_session(const std::vector<RegisterOperation>& operations);

}  // namespace tidemark::histories
