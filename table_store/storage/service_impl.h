// What the operations of TableService share: the engine, and steps that run inside of a transaction or over a snapshot.
// Private to storage/.
#pragma once
#include "common/kv/operation_ledgers.h"
#include "table_store/storage/scan_turns.h"
#include "table_store/storage/table_directory.h"
#include "table_store/storage/table_records.h"
#include "table_store/storage/table_service.h"

namespace tidemark::table_store {

struct TableService::Impl {
  Impl(kv::Engine& engine_, Clock& clock_, Random& random_, ScanLimits scans);

  kv::Engine& engine;
  Clock& clock;
  Random& random;
  kv::OperationLedgers ledgers;
  ScanTurns turns;
  TableDirectory directory;

  /// The stored bytes of an entity, if there is one; kTableNotFound.
  Result<std::optional<std::string>> read_entity(std::string_view account, std::string_view table,
                                                 std::string_view partition_key, std::string_view row_key);
  /// With the fence's check and count, if there is one; then starts collection.
  Task<Result<void>> drop(std::string account, std::string table, std::optional<Fence> fence);
  Task<Result<void>> collect_garbage();
};

/// kTableNotFound if there is none.
Result<std::uint64_t> find_generation(const kv::Reader& reader, std::string_view account, std::string_view table);
/// The same, with the name and the ACL.
Result<TableRecord> read_table(const kv::Reader& reader, std::string_view account, std::string_view table);

/// The counter under this key, which begins with zero.
Result<std::uint64_t> read_counter(const kv::Reader& reader, std::string_view key);

}  // namespace tidemark::table_store
