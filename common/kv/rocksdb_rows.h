// Rows of a database as RocksDB shows them: at one moment, or to a body of a transaction.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/kv/engine.h"
#include "common/kv/rocksdb_database.h"
#include "common/kv/write_overlay.h"

namespace tidemark::kv::detail {

Result<std::optional<std::string>> read_row(const Database& db, const rocksdb::ReadOptions& options,
                                            std::string_view key);

/// As Reader::get_all().
Result<void> read_rows(const Database& db, const rocksdb::ReadOptions& options, std::span<const std::string> keys,
                       const Reader::Told& told);

/// As the database is now.
std::shared_ptr<const Reader> snapshot_of(Database db);

/// Small rows that bodies of a group found in the database, and those that are not there: most bodies begin with the
/// same few, which name the queue or the table. Nobody but bodies write, and what they write hides them.
using Memo = std::map<std::string, std::optional<std::string>, std::less<>>;

/// One body's view: its group's writes, over those of the group that is being written, over the database. Whether the
/// database has the latter already makes no difference.
class GroupTransaction final : public Transaction {
 public:
  GroupTransaction(const Database& db, WriteOverlay& writes, const WriteOverlay* ahead, Memo& memo);

  Result<std::optional<std::string>> get(std::string_view key) const override;
  std::unique_ptr<Cursor> scan(const KeyRange& range, Direction direction) const override;
  void put(std::string_view key, std::string_view value) override { writes_.put(key, value); }
  void erase(std::string_view key) override { writes_.erase(key); }

  /// Keeps or undoes the body's writes. A body that overlooked a failed read must not commit what it made of it.
  Result<void> finish(Result<void> outcome);

 private:
  const Database& db_;
  WriteOverlay& writes_;
  const WriteOverlay* ahead_;
  Memo& memo_;
  mutable std::optional<Error> failure_;
};

}  // namespace tidemark::kv::detail
