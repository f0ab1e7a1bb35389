// Remembers each table's generation and followers, so a point read is one read of the database instead of two and a
// snapshot, and a write to a table without followers costs nothing more. Thread safe.
//
// Its answers are true at that moment. They change only when the table is dropped, or a follower comes, changes or
// goes, and the operation that does so holds a Change from before the transaction is submitted until it is visible.
// While there is a Change, nothing is found. Rows that a reader saw before a Change ended are not remembered
// afterwards, because its ticket is too old. All changes must come through here, so while another process owns the
// shard, nothing is found or remembered.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/base/mutex.h"
#include "table_store/storage/capture.h"

namespace tidemark::table_store {

/// The facts about a table that every operation needs.
struct KnownTable {
  std::uint64_t generation = 0;
  std::shared_ptr<const Capture> capture = {};  // null: the table has no followers
};

class TableDirectory {
 public:
  /// Names are table_key()s.
  [[nodiscard]] std::optional<KnownTable> find(const std::string& table_key) const;

  /// Take it before you read the database.
  using Ticket = std::uint64_t;
  [[nodiscard]] Ticket ticket() const;
  void remember(const std::string& table_key, KnownTable table, Ticket ticket);

  /// close(): another process owns the shard and may change its tables. open(): that is no longer so.
  void close();
  void open();

  class Change {
   public:
    Change(TableDirectory& directory, const std::string& table_key);
    ~Change();
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    TableDirectory& directory_;
  };

 private:
  static constexpr std::size_t kMaxTables = 16384;  // with more, everything is forgotten and learned again

  mutable Mutex mutex_;
  std::unordered_map<std::string, KnownTable> tables_ GUARDED_BY(mutex_);
  std::size_t changes_ GUARDED_BY(mutex_) = 0;  // in progress
  bool closed_ GUARDED_BY(mutex_) = false;
  Ticket changes_ended_ GUARDED_BY(mutex_) = 0;
};

}  // namespace tidemark::table_store
