// What the only writer of a keyspace knows of it: rows that it read or wrote, keys that are not there, and ranges in
// which it knows every row. Bodies of transactions read from here. What is not known is noted as missing, so that what
// many bodies miss can be fetched together; a body that missed something is run again after that.
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

  /// Rows of a range that are to be fetched, from its beginning (kForward) or its end; at most `limit` of them.
  struct MissingRange {
    KeyRange range;
    Direction direction = Direction::kForward;
    std::size_t limit = 0;
  };
  struct Missing {
    std::vector<std::string> keys;
    std::vector<MissingRange> ranges;
    [[nodiscard]] bool empty() const { return keys.empty() && ranges.empty(); }
    /// Adds what another body missed; many miss the same.
    void add(Missing other);
  };

  /// Null if nothing is known about the key.
  [[nodiscard]] const Value* find(std::string_view key) const;
  /// Walks what is known, and notes in `missing` where that ends; `limit` says how much to fetch then. The cursor is
  /// valid until something is learnt.
  [[nodiscard]] std::unique_ptr<Cursor> scan(const KeyRange& range, Direction direction, std::size_t limit,
                                             Missing& missing) const;

  /// The row was read or written, or is known to be absent.
  void learn(std::string_view key, Value value);
  /// These are the first (or last) rows of the range, in the order of the walk; all of them if there are fewer than the
  /// limit.
  using Rows = std::vector<std::pair<std::string_view, std::string_view>>;
  void learn(const MissingRange& range, const Rows& rows);
  /// The range has no rows any more.
  void learn_erased(const KeyRange& range);
  void clear();

  /// An estimate of the memory.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  friend class KnownCursor;
  // From the first key of a range to its end (empty: none). They neither overlap nor touch.
  using Ranges = std::map<std::string, std::string, std::less<>>;

  /// The range that holds every key from here on for a while, or null.
  [[nodiscard]] const Ranges::value_type* range_from(std::string_view key) const;
  /// The range that holds the keys just before this one (empty: the end), or null.
  [[nodiscard]] const Ranges::value_type* range_before(std::string_view key) const;
  void add(KeyRange range);
  template <class Which>
  void erase_rows(const KeyRange& range, Which which);

  std::map<std::string, Value, std::less<>> rows_;
  Ranges ranges_;
  std::size_t bytes_ = 0;
};

}  // namespace tidemark::kv
