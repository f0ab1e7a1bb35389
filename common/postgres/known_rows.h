// The rows that the only writer of a keyspace knows: rows that it read or wrote, keys that are absent, and ranges in
// which it knows every row. Bodies of transactions read from here. Unknown rows are noted as missing, so that the rows
// that many bodies miss can be fetched together; a body that missed a row is run again after that.
//
// Not thread safe.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "common/kv/engine.h"

namespace tidemark::kv {

class KnownRows {
 public:
  using Value = std::optional<std::string>;  // nothing: there is no such row

  /// Rows of a range to be fetched, from its beginning (kForward) or its end; at most `limit` of them.
  struct MissingRange {
    KeyRange range;
    Direction direction = Direction::kForward;
    std::size_t limit = 0;
  };
  struct Missing {
    std::vector<std::string> keys;
    std::vector<MissingRange> ranges;
    [[nodiscard]] bool empty() const { return keys.empty() && ranges.empty(); }
    /// Adds the rows that another body missed; many bodies miss the same.
    void add(Missing other);
  };

  /// Null if nothing is known about the key.
  [[nodiscard]] const Value* find(std::string_view key) const;
  /// Walks the known rows, and notes in `missing` where they end; `limit` says how many rows to fetch then. The cursor
  /// is valid until a row is learnt.
  [[nodiscard]] std::unique_ptr<Cursor> scan(const KeyRange& range, Direction direction, std::size_t limit,
                                             Missing& missing) const;

  /// The row was read or written, or is known to be absent.
  void learn(std::string_view key, Value value);
  /// These are the first (or last) rows of the range, in the order of the walk. If there are fewer than the limit, they
  /// are all of its rows.
  using Rows = std::vector<std::pair<std::string_view, std::string_view>>;
  void learn(const MissingRange& range, const Rows& rows);
  /// The range has no rows any more.
  void learn_erased(const KeyRange& range);
  void clear();

  /// An estimate of the memory in use.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  friend class KnownCursor;
  // Each maps the first key of a known range to its end (empty: none). The ranges neither overlap nor touch.
  using Ranges = std::map<std::string, std::string, std::less<>>;

  /// Returns the known range that contains this key and those after it, or null.
  [[nodiscard]] const Ranges::value_type* range_from(std::string_view key) const;
  /// Returns the known range that contains the keys just before this one (empty: the end), or null.
  [[nodiscard]] const Ranges::value_type* range_before(std::string_view key) const;
  void add(KeyRange range);
  template <class Which>
  void erase_rows(const KeyRange& range, Which which);

  std::map<std::string, Value, std::less<>> rows_;
  Ranges ranges_;
  std::size_t bytes_ = 0;
};

}  // namespace tidemark::kv
