// Rows of a database that were read a moment ago, in memory. Reading such a row again saves the search for it, which
// costs several microseconds even if nothing has to be read from a file. It is for a database with a single writer,
// whose commits have rising numbers, and whose snapshots show the commits up to one of these: their moment.
//
// Thread safe.
#pragma once
#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "common/base/mutex.h"
#include "common/kv/engine.h"

namespace tidemark::kv {

class RecentRows {
 public:
  using Moment = std::uint64_t;
  using Value = std::shared_ptr<const std::string>;  // null: there is no such row

  explicit RecentRows(std::size_t most_bytes) : most_bytes_(most_bytes / kParts) {}

  /// Returns the row as it is at that moment, if it is in memory.
  [[nodiscard]] std::optional<Value> find(std::string_view key, Moment at);
  /// The row was read at that moment. Does nothing if the row may have been written since, or if it is large.
  void remember(std::string_view key, std::optional<std::string_view> value, Moment at);

  // For the writer, before a commit becomes visible at `from` and later moments.

  /// The row is written. A row that is never read is forgotten all the same.
  void change(std::string_view key, const std::optional<std::string>& value, Moment from);
  /// All rows of the range are erased.
  void erase(const KeyRange& range, Moment from);

  struct Figures {
    std::size_t bytes = 0;                   // the approximate memory
    std::uint64_t found = 0, not_found = 0;  // by find()
  };
  [[nodiscard]] Figures figures() const;

 private:
  static constexpr std::size_t kParts = 32;
  static constexpr std::size_t kSlots = 512;

  struct Name {
    std::string_view key;
    std::size_t hash;
  };
  struct Row {
    std::string key;
    std::size_t hash;
    // The sets do not depend on these.
    mutable Value value;
    mutable Moment from;  // the moment since which the row has this value

    [[nodiscard]] std::size_t bytes() const;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const Row& row) const { return row.hash; }
    std::size_t operator()(const Name& name) const { return name.hash; }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Row& a, const Row& b) const { return a.key == b.key; }
    bool operator()(const Name& a, const Row& b) const { return a.key == b.key; }
    bool operator()(const Row& a, const Name& b) const { return a.key == b.key; }
  };
  using Rows = std::unordered_set<Row, Hash, Equal>;

  struct Generation {
    Rows rows;
    std::size_t bytes = 0;
  };
  /// A row that is found belongs to the young rows. Once there are too many of these, they replace the old rows.
  struct Part {
    mutable Mutex mutex;
    Generation young GUARDED_BY(mutex), old GUARDED_BY(mutex);
    /// By hash: the moment at which any of these rows was last written, whether or not it is in memory.
    std::array<Moment, kSlots> changed GUARDED_BY(mutex){};
    Moment erased GUARDED_BY(mutex) = 0;  // when a range was last erased
    /// The first bytes of all rows here: most erased ranges are of rows that are never read one by one.
    std::bitset<256> first_bytes GUARDED_BY(mutex);
    std::uint64_t hits GUARDED_BY(mutex) = 0, misses GUARDED_BY(mutex) = 0;

    /// Null if the row is not there.
    const Row* find(const Name& name) REQUIRES(mutex);
    /// Returns the forgotten rows, which take a while to destroy: release the lock before.
    Rows turn_if_full(std::size_t most_bytes) REQUIRES(mutex);
  };

  static Name name_of(std::string_view key) { return {key, std::hash<std::string_view>()(key)}; }
  // The sets use the lower bits.
  Part& part_of(const Name& name) { return parts_[name.hash >> 40 & (kParts - 1)]; }
  static std::size_t slot_of(const Name& name) { return name.hash >> 48 & (kSlots - 1); }

  const std::size_t most_bytes_;  // of a part
  std::array<Part, kParts> parts_;
};

}  // namespace tidemark::kv
