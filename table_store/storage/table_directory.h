// Which generation a table has, remembered: so a point read costs one read of the database instead of two and a
// snapshot. Thread safe; no errors.
//
// What it says is true when it says it. A table's generation changes only when the table is dropped, and whoever drops
// one holds a Drop from before the transaction is handed in until after it is visible. While there is one, nothing is
// found; and what a reader saw before a Drop ended is refused afterwards, since the ticket it took is old by then. This
// needs every drop to pass here, so it is for an engine that one process owns.
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

  /// To be taken before the database is read.
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
  static constexpr std::size_t kMaxTables = 16384;  // beyond it everything is forgotten and learned again

  mutable SharedMutex mutex_;
  std::unordered_map<std::string, std::uint64_t> generations_ GUARDED_BY(mutex_);
  std::size_t drops_ GUARDED_BY(mutex_) = 0;  // in progress
  Ticket drops_ended_ GUARDED_BY(mutex_) = 0;
};

}  // namespace tidemark::table_store
