#include "table_store/storage/table_shards.h"

#include "common/base/record.h"
#include "common/kv/generations.h"
#include "table_store/storage/table_changes.h"
#include "table_store/storage/table_keys.h"
#include "table_store/storage/table_rows.h"

namespace tidemark::table_store {
namespace {

Result<std::uint64_t> generation_in(std::string_view bytes) {
  const auto generation = kv::take_u64(bytes);
  if (!generation || !bytes.empty()) return corrupt_record("copy of a table");
  return *generation;
}

std::vector<std::unique_ptr<TableShard>> shards_of(const shards::Shards& stored) {
  std::vector<std::unique_ptr<TableShard>> all;
  for (const auto& shard : stored.all) all.push_back(std::make_unique<TableShard>(all.size(), shard.engine));
  return all;
}

}  // namespace

Result<std::optional<CopiedTables::Copy>> CopiedTables::read(const kv::Reader& catalogue, std::string_view account,
                                                             std::string_view table) const {
  const auto bytes = TRY(catalogue.get(table_key(account, table)));
  if (!bytes) return std::optional<Copy>();
  const auto generation = TRY(decode_table_generation(*bytes));
  std::string payload;
  kv::append_u64(payload, generation);
  return Copy{generation, std::move(payload)};
}

/// For a drop, each shard erases the rows that it has.
Result<void> CopiedTables::change_shard(kv::Transaction& txn, std::size_t, const std::string& account,
                                        const std::string& table, const Change& change) const {
  const auto what = TRY(decode_table_change(change.what));
  if (what.kind == TableChangeKind::kDrop) kv::drop_generation(txn, kDroppedGeneration, what.generation);
  return change_logs(txn, feed_key(account, table), change.version, what);
}

Result<void> CopiedTables::change_row(kv::Transaction& txn, const std::string& account, const std::string& table,
                                      const Change& change) const {
  if (TRY(decode_table_change(change.what)).kind == TableChangeKind::kDrop) txn.erase(table_key(account, table));
  return {};
}

std::shared_ptr<void> CopiedTables::hold(std::size_t shard, const std::string& account,
                                         const std::string& table) const {
  return std::make_shared<TableDirectory::Change>(shards_[shard]->directory, table_key(account, table));
}

TableShards::TableShards(shards::Shards stored, Clock& clock, CopiedTables::Collect collect)
    : stored_(std::move(stored)),
      all_(shards_of(stored_)),
      tables_(all_, std::move(collect)),
      copies_(stored_, clock, kCopiedTable, tables_) {
  if (!shared()) return;
  for (const auto& shard : all_) shard->directory.close();
}

void TableShards::lost(std::size_t shard) {
  all_[shard]->directory.close();
  copies_.lost(shard);
}

TableShard& TableShards::of(std::string_view account, std::string_view table, std::string_view partition_key) const {
  if (!divided()) return catalogue();
  return *all_[stored_.placement.of({account, to_lower_ascii(table), partition_key})];
}

TableShard& TableShards::to_write(std::string_view account, std::string_view table,
                                  std::string_view partition_key) const {
  auto& shard = of(account, table, partition_key);
  stored_.all[shard.number].wrote(account, table, partition_key);
  return shard;
}

TableShard& TableShards::home_of(std::string_view account, std::string_view operation_id) const {
  return *all_[stored_.placement.of({account, operation_id})];
}

Result<KnownTable> TableShards::find(const kv::Reader& rows, const TableShard& shard, std::string_view account,
                                     std::string_view table) const {
  KnownTable known;
  known.generation = TRY(generation_on(rows, shard, account, table));
  known.capture = TRY(read_capture(rows, feed_key(account, table)));
  return known;
}

Result<std::uint64_t> TableShards::generation_on(const kv::Reader& rows, const TableShard& shard,
                                                 std::string_view account, std::string_view table) const {
  if (shard.number == 0) return table_store::find_generation(rows, account, table);
  const auto copy = TRY(copies_.find(rows, account, to_lower_ascii(table)));
  if (!copy) return fail(ErrorCode::kTableNotFound);
  return generation_in(copy->payload);
}

Result<KnownTable> TableShards::find_to_write(const kv::Transaction& txn, TableShard& shard, std::string_view account,
                                              std::string_view table) const {
  const auto name = table_key(account, table);
  if (auto known = shard.directory.find(name)) return std::move(*known);
  const auto ticket = shard.directory.ticket();
  auto known = find(txn, shard, account, table);
  if (known) shard.directory.remember(name, *known, ticket);
  return known;
}

Result<std::uint64_t> TableShards::find_generation(std::string_view account, std::string_view table) const {
  const auto rows = catalogue().engine.snapshot();
  const auto generation = TRY(table_store::find_generation(*rows, account, table));
  if (!divided()) return generation;
  const auto change = TRY(copies_.under_way(*rows, account, to_lower_ascii(table)));
  if (change && !change->payload) return fail(ErrorCode::kTableNotFound);
  return generation;
}

Task<Result<bool>> TableShards::bring(const TableShard& shard, std::string account, std::string_view table) const {
  return copies_.bring(shard.number, std::move(account), to_lower_ascii(table));
}

}  // namespace tidemark::table_store
