// Remembers the generation of each table, so a point read is one read of the database instead of two and a snapshot.
// Thread safe.
//
// What it says is true at that moment. The generation of a table changes only when the table is dropped, and whoever
// drops one holds a Drop from before the transaction is submitted until it is visible. While there is a Drop, nothing
// is found. What a reader saw before a Drop ended is refused afterwards, because its ticket is too old. All drops must
// come through here, so this works only if one process owns the engine.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/base/mutex.h"

namespace tidemark::table_store {

class TableDirectory {
 public:
  /// Names are table_key()s.
  [[nodiscard]] std::optional<std::uint64_t> find(const std::string& table_key) const;

  /// Take it before you read the database.
  using Ticket = std::uint64_t;
  [[nodiscard]] Ticket ticket() const;
  void remember(const std::string& table_key, std::uint64_t generation, Ticket ticket);

  class Drop {
   public:
    Drop(TableDirectory& directory, const std::string& table_key);
    ~Drop();
    Drop(const Drop&) = delete;
    Drop& operator=(const Drop&) = delete;

   private:
    TableDirectory& directory_;
  };

 private:
  static constexpr std::size_t kMaxTables = 16384;  // with more, everything is forgotten and learned again

  mutable Mutex mutex_;
  std::unordered_map<std::string, std::uint64_t> generations_ GUARDED_BY(mutex_);
  std::size_t drops_ GUARDED_BY(mutex_) = 0;  // in progress
  Ticket drops_ended_ GUARDED_BY(mutex_) = 0;
};

}  // namespace tidemark::table_store
