// The place of a walk over a table and over the rows of its index, and the reading of its pages. Used from one strand.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "workers/indexes/index_rows.h"
#include "workers/indexes/source_walk.h"

namespace tidemark::workers {

/// The place, which is kept as JSON in the progress of the index.
struct Walk {
  bool over_rows = false;
  bool over_blobs = false;  // after the rows
  bool over_notes = false;  // after the rows and the blobs
  std::string continuation;
  std::uint64_t checked = 0;
  std::uint64_t wrong = 0;
  table_store::Version from = 0;  // the position when it began
  std::int32_t asked = 0;         // scrubs that had been asked for by then
  bool ended = false;             // its last page was read
  bool after_loss = false;        // the log did not wait: rows may be left that no entity justifies
  InTheWay in_the_way;            // found by the walk, and by reading the log since the walk began

  /// Reads text(); a walk that has not begun if the text is not one.
  static Walk read(const std::string& text);
  [[nodiscard]] std::string text() const;
};

/// A page of a walk that has been dealt with.
struct WalkPage {
  std::string continuation;  // empty at the end of this part
  std::uint64_t checked = 0;
  Wrong wrong;
};

class WalkReader {
 public:
  /// All arguments must outlive it. `page_entities`: the entities that one call reads.
  WalkReader(table_store::TableClient& tables, Clock& clock, WalkRoom& room, std::uint32_t page_entities,
             const indexes::Index& index, IndexRows& rows)
      : tables_(tables), clock_(clock), room_(room), page_entities_(page_entities), index_(index), rows_(rows) {}

  enum class Mode : std::uint8_t {
    kBuilding,   // gives entities their rows
    kVerifying,  // compares, as fast as it goes
    kHurrying,   // the same, while changes are followed
    kSlowly,     // the same, at the rate of the definition
  };
  /// Deals with the page at the walk's place.
  Task<Result<WalkPage>> deal_with_page(const Walk& walk, Mode mode);
  /// Tells whether the next page over the table was read already, while the rows of the last one were written.
  [[nodiscard]] bool is_ahead() const { return ahead_.has_value(); }
  /// An entity has changed since, or may not be durable.
  void forget_ahead() { ahead_.reset(); }
  /// Returns how many entities to take at once, so that the index's own writes do not leave it too far behind.
  [[nodiscard]] std::size_t most_at_once() const;
  [[nodiscard]] table_store::QueryRequest rows_page(std::string continuation) const;

 private:
  /// The entities that a walk over the table deals with at once.
  struct Stretch {
    std::unique_ptr<Gathering> entities;
    std::size_t count = 0;
    std::string continuation;  // empty at the end
  };
  /// A stretch that was read before its turn.
  struct Ahead {
    std::string from;
    Stretch stretch;
  };

  Task<Result<WalkPage>> walk_table(std::string from, Mode mode);
  Task<Result<WalkPage>> walk_rows(std::string from);
  Task<Result<WalkPage>> walk_blobs(std::string from);
  Task<Result<WalkPage>> walk_notes(std::string from);
  [[nodiscard]] bool reads_many(Mode mode) const;
  [[nodiscard]] ReadingEnd end_of_stretch(Mode mode) const;
  [[nodiscard]] table_store::QueryRequest entities_page(std::string continuation, Mode mode) const;
  Task<Result<Stretch>> read_stretch(std::string from, Mode mode);
  Task<Result<void>> read_ahead(std::string from, Mode mode);

  table_store::TableClient& tables_;
  Clock& clock_;
  WalkRoom& room_;
  const std::uint32_t page_entities_;
  const indexes::Index& index_;
  IndexRows& rows_;
  std::optional<Ahead> ahead_;
};

}  // namespace tidemark::workers
