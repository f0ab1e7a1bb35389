// The rows that the owner of a shard knows (known_rows.h), for any thread to read. Only the writer changes them, and it
// reads them without a lock. A row that is found here is committed in the database. The rows of a commit that is under
// way are not found, since only the database can tell whether they are visible yet.
#pragma once
#include <atomic>
#include <shared_mutex>

#include "common/base/mutex.h"
#include "common/kv/write_overlay.h"
#include "common/postgres/known_rows.h"

namespace tidemark::kv {

class SharedKnownRows {
 public:
  explicit SharedKnownRows(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // These may be called from any thread.

  /// Returns nothing if nothing is known about the key.
  [[nodiscard]] std::optional<KnownRows::Value> find(std::string_view key) const;
  /// Call it before asking the database for a row that will be suggested.
  [[nodiscard]] std::uint64_t forgotten() const { return forgotten_; }
  /// Suggests a row that was read from the database. It becomes known soon, if it can still be true. Returns whether
  /// the writer should take the suggested rows.
  bool suggest(std::string_view key, const KnownRows::Value& value, std::uint64_t forgotten);
  [[nodiscard]] bool has_many_suggested() const;
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  // These are for the writer's thread.

  [[nodiscard]] const KnownRows& rows() const { return rows_; }
  template <class Change>
  void change(Change change) {
    const std::unique_lock lock(rows_mutex_);
    change(rows_);
    bytes_ = rows_.bytes();
  }
  /// Call it between two commits.
  void take_suggested();
  /// Forgets everything if it takes up too much memory.
  void keep_bound();
  /// The writes must stay unchanged until end_commit().
  void begin_commit(const WriteOverlay& writes);
  void end_commit(bool committed);

 private:
  struct Suggested {
    std::string key;
    KnownRows::Value value;
    std::uint64_t forgotten;
  };

  const std::size_t most_bytes_;
  mutable std::shared_mutex rows_mutex_;  // guards the next two
  KnownRows rows_;
  const WriteOverlay* committing_ = nullptr;
  std::atomic<std::uint64_t> forgotten_{0};  // the number of times
  std::atomic<std::size_t> bytes_{0};
  mutable Mutex suggested_mutex_;
  std::vector<Suggested> suggested_ GUARDED_BY(suggested_mutex_);
  std::size_t suggested_bytes_ GUARDED_BY(suggested_mutex_) = 0;
};

}  // namespace tidemark::kv
