// What the operation families of TableService share: the engine handed in and steps that run inside a transaction or
// over a snapshot. Private to storage/. Steps are pure functions of the reader they are given.
#pragma once
#include "table_store/storage/scan_turns.h"
#include "table_store/storage/table_directory.h"
#include "table_store/storage/table_records.h"
#include "table_store/storage/table_service.h"

namespace tidemark::table_store {

struct TableService::Impl {
  Impl(kv::Engine& engine_, Clock& clock_, Random& random_, ScanLimits scans)
      : engine(engine_), clock(clock_), random(random_), turns(scans) {}

  kv::Engine& engine;
  Clock& clock;
  Random& random;
  ScanTurns turns;
  std::shared_ptr<TableDirectory> directory = std::make_shared<TableDirectory>();  // also of bodies that wait

  /// The stored bytes of an entity, if there is one; kTableNotFound.
  Result<std::optional<std::string>> read_entity(std::string_view account, std::string_view table,
                                                 std::string_view partition_key, std::string_view row_key);
  /// With the fence's check and count, if there is one.
  Task<Result<void>> drop(std::string account, std::string table, std::optional<Fence> fence);
};

/// kTableNotFound if there is none.
Result<std::uint64_t> find_generation(const kv::Reader& reader, std::string_view account, std::string_view table);
/// The same, with the name and the ACL.
Result<TableRecord> read_table(const kv::Reader& reader, std::string_view account, std::string_view table);

/// Empty if the operation is unknown.
Result<OperationLedger> load_ledger(const kv::Reader& reader, std::string_view account, std::string_view operation_id);
void store_ledger(kv::Transaction& txn, std::string_view account, std::string_view operation_id,
                  const OperationLedger& ledger);

/// pass_fence, unless a test took it out.
Result<void> check_fence(OperationLedger& ledger, std::uint64_t epoch);

/// The counter under this key, zero at first.
Result<std::uint64_t> read_counter(const kv::Reader& reader, std::string_view key);

}  // namespace tidemark::table_store
