// The shards of the table store (docs/scale.md): the entities of a partition are on one, and the first, the catalogue,
// has the tables themselves. A table's row has copies on the other shards (common/shards/catalogue_copies.h). In a
// store of one shard nothing here reads or writes more than the catalogue's own rows. Other processes may serve some of
// the shards (common/shards/peers.h): their rows are read from the database. Private to storage/. Thread safe.
#pragma once
#include <memory>
#include <vector>

#include "common/shards/catalogue_copies.h"
#include "common/shards/peers.h"
#include "table_store/storage/table_directory.h"

namespace tidemark::table_store {

struct TableShard {
  TableShard(std::size_t number_, kv::Engine& engine_) : number(number_), engine(engine_) {}

  const std::size_t number;
  kv::Engine& engine;
  TableDirectory directory;
};

/// The content of copies of a table's row, and the work of each shard when the table is dropped or its followers change
/// (table_changes.h).
class CopiedTables final : public shards::CatalogueCopies::Rows {
 public:
  using Copy = shards::CatalogueCopies::Copy;
  using Change = shards::CatalogueCopies::Change;
  /// Begins to erase a shard's rows of dropped tables.
  using Collect = std::function<void(std::size_t shard, const Executor& executor)>;

  explicit CopiedTables(const std::vector<std::unique_ptr<TableShard>>& shards, Collect collect = {})
      : shards_(shards), collect_(std::move(collect)) {}
  [[nodiscard]] Result<std::optional<Copy>> read(const kv::Reader& catalogue, std::string_view account,
                                                 std::string_view table) const override;
  Result<void> change_shard(kv::Transaction& txn, std::size_t shard, const std::string& account,
                            const std::string& table, const Change& change) const override;
  Result<void> change_row(kv::Transaction& txn, const std::string& account, const std::string& table,
                          const Change& change) const override;
  void changed_on_request(std::size_t shard, const Executor& executor) const override { collect_(shard, executor); }
  [[nodiscard]] std::shared_ptr<void> hold(std::size_t shard, const std::string& account,
                                           const std::string& table) const override;

 private:
  const std::vector<std::unique_ptr<TableShard>>& shards_;
  const Collect collect_;
};

class TableShards {
 public:
  TableShards(shards::Shards stored, Clock& clock, CopiedTables::Collect collect);

  /// This process serves the shard from now on, or does not any more.
  void gained(std::size_t shard) { all_[shard]->directory.open(); }
  void lost(std::size_t shard);
  [[nodiscard]] bool here(std::size_t shard) const { return peers() == nullptr || peers()->here(shard); }
  /// Tells whether this process's memory of the shard is valid. Ask it after reading from that memory.
  [[nodiscard]] bool leased(std::size_t shard) const { return peers() == nullptr || peers()->leased(shard); }
  /// Returns the processes that share the shards; null: all shards are here.
  [[nodiscard]] shards::Peers* peers() const { return stored_.peers; }
  [[nodiscard]] bool shared() const { return peers() != nullptr; }
  [[nodiscard]] bool divided() const { return all_.size() > 1; }
  [[nodiscard]] TableShard& catalogue() const { return *all_.front(); }
  [[nodiscard]] TableShard& operator[](std::size_t shard) const { return *all_[shard]; }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  /// Returns the shard that has a partition.
  [[nodiscard]] TableShard& of(std::string_view account, std::string_view table, std::string_view partition_key) const;
  /// The same, for a transaction of this partition.
  [[nodiscard]] TableShard& to_write(std::string_view account, std::string_view table,
                                     std::string_view partition_key) const;
  /// Returns the shard that is the home of an operation (common/shards/operation_ledgers.h).
  [[nodiscard]] TableShard& home_of(std::string_view account, std::string_view operation_id) const;

  /// Finds a table by the rows of one shard. kTableNotFound: there is no such table, or this shard has no copy of it
  /// yet.
  [[nodiscard]] Result<KnownTable> find(const kv::Reader& rows, const TableShard& shard, std::string_view account,
                                        std::string_view table) const;
  /// The same in a transaction. On the writer, the directory agrees with the rows that the transaction would read: an
  /// earlier change of the table is either still in progress, or the table has left the directory.
  [[nodiscard]] Result<KnownTable> find_to_write(const kv::Transaction& txn, TableShard& shard,
                                                 std::string_view account, std::string_view table) const;
  /// Returns the generation in the catalogue now. kTableNotFound also while the table is being dropped from one shard
  /// after another.
  [[nodiscard]] Result<std::uint64_t> find_generation(std::string_view account, std::string_view table) const;
  /// Returns the generation of the table's entities by the rows of one shard; kTableNotFound like find().
  [[nodiscard]] Result<std::uint64_t> generation_on(const kv::Reader& rows, const TableShard& shard,
                                                    std::string_view account, std::string_view table) const;
  /// Returns the content of copies of the table's row; nothing: the catalogue has no such table.
  [[nodiscard]] Result<std::optional<CopiedTables::Copy>> copy_of(const kv::Reader& catalogue, std::string_view account,
                                                                  std::string_view table) const {
    return tables_.read(catalogue, account, table);
  }
  /// Makes a copy for this shard; false if there is no such table.
  Task<Result<bool>> bring(const TableShard& shard, std::string account, std::string_view table) const;
  /// Changes name tables in lower case.
  [[nodiscard]] const shards::CatalogueCopies& copies() const { return copies_; }

 private:
  const shards::Shards stored_;
  std::vector<std::unique_ptr<TableShard>> all_;
  const CopiedTables tables_;
  const shards::CatalogueCopies copies_;
};

}  // namespace tidemark::table_store
