// The writes of transactions that are not in the database yet, with the last write to each key. If several transactions
// of a group write the same row, such as a counter, only the last write reaches the log and the database. The writes of
// the running transaction can be undone; those before it stay.
//
// Not thread safe, but any number of threads may read an overlay that nobody writes to.
#pragma once
#include <array>
#include <map>
#include <vector>

#include "common/kv/engine.h"

namespace tidemark::kv {

class WriteOverlay {
 public:
  using Value = std::optional<std::string>;  // nothing if it was erased
  using Rows = std::map<std::string, Value, std::less<>>;

  /// Later writes can be taken back by undo().
  void begin() { undo_.clear(); }
  void undo();
  void put(std::string_view key, std::string_view value) { set(key, std::string(value)); }
  void erase(std::string_view key) { set(key, std::nullopt); }

  /// Returns the write to the key; null if there was none.
  [[nodiscard]] const Value* find(std::string_view key) const;
  [[nodiscard]] const Rows& rows() const { return rows_; }
  /// The size of all keys and values.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  void clear();

 private:
  struct Before {
    Rows::iterator row;
    bool existed;
    Value value;
  };
  void set(std::string_view key, Value value);

  Rows rows_;
  std::vector<Before> undo_;
  std::size_t bytes_ = 0;
};

/// Walks over `base` as it will be once the overlays are written. The first overlay hides the second, which hides
/// `base`; either may be null. Like every cursor, it is valid until the next write.
std::unique_ptr<Cursor> overlaid(std::array<const WriteOverlay*, 2> overlays, std::unique_ptr<Cursor> base,
                                 const KeyRange& range, Direction direction);

}  // namespace tidemark::kv
