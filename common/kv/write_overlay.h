// The writes of transactions that are not in the database yet: one row a key, the last write to it. Whatever many
// transactions of a group do to a row, a counter say, reaches the log and the database once. The writes of the
// transaction that runs can be taken back; those before it stay.
//
// Not thread safe, but any number of threads may read one that nobody writes to.
#pragma once
#include <array>
#include <map>
#include <vector>

#include "common/kv/engine.h"

namespace tidemark::kv {

class WriteOverlay {
 public:
  using Value = std::optional<std::string>;  // nothing: erased
  using Rows = std::map<std::string, Value, std::less<>>;

  /// From here on undo() takes back.
  void begin() { undo_.clear(); }
  void undo();
  void put(std::string_view key, std::string_view value) { set(key, std::string(value)); }
  void erase(std::string_view key) { set(key, std::nullopt); }

  /// What was written to the key; null: nothing.
  [[nodiscard]] const Value* find(std::string_view key) const;
  [[nodiscard]] const Rows& rows() const { return rows_; }
  /// Of all keys and values.
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

/// A walk over `base` as it will be with the overlays written: the first of them hides the second, which hides `base`.
/// Either may be null. Ends, as every cursor does, with the next write.
std::unique_ptr<Cursor> overlaid(std::array<const WriteOverlay*, 2> overlays, std::unique_ptr<Cursor> base,
                                 const KeyRange& range, Direction direction);

}  // namespace tidemark::kv
