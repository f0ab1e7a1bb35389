// Rows of a database as RocksDB shows them: at one moment, or to the body of a transaction.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/kv/engine.h"
#include "common/kv/recent_rows.h"
#include "common/kv/rocksdb_database.h"
#include "common/kv/write_overlay.h"

namespace tidemark::kv::detail {

/// A database, and its rows in memory.
struct Stored {
  Database db;
  std::shared_ptr<RecentRows> recent;

  [[nodiscard]] RecentRows::Moment now() const { return db->GetLatestSequenceNumber(); }
};

/// Reads the row in the present database.
Result<std::optional<std::string>> read_row(const Stored& stored, std::string_view key);
std::shared_ptr<const Reader> snapshot_of(Stored stored);

/// One body's view: its group's writes, over those of the group that is being written, over the database. It makes no
/// difference whether the database has the latter group already.
class GroupTransaction final : public Transaction {
 public:
  GroupTransaction(const Stored& stored, WriteOverlay& writes, const WriteOverlay* ahead);

  Result<std::optional<std::string>> get(std::string_view key) const override;
  std::unique_ptr<Cursor> scan(const KeyRange& range, Direction direction) const override;
  void put(std::string_view key, std::string_view value) override { writes_.put(key, value); }
  void erase(std::string_view key) override { writes_.erase(key); }

  /// Keeps or undoes the body's writes. A body that overlooked a failed read must not commit its result.
  Result<void> finish(Result<void> outcome);

 private:
  const Stored& stored_;
  WriteOverlay& writes_;
  const WriteOverlay* ahead_;
  mutable std::optional<Error> failure_;
};

}  // namespace tidemark::kv::detail
