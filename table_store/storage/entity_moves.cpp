// Moves of single entities (model/move.h). The copy is made of the stored bytes, in the transaction that erases them,
// so there is no moment at which an entity is in both tables or has changed in between.
#include "table_store/model/limits.h"
#include "table_store/storage/mutation_job.h"
#include "table_store/storage/table_keys.h"
#include "table_store/storage/table_rows.h"

namespace tidemark::table_store {
namespace {

const FailStep kMoveStep("table.move");

constexpr std::size_t kCopy = 0;
constexpr std::size_t kErasure = 1;

struct MoveJob {
  bool back = false;
  MutationJob entity;       // the copy and the erasure; its table is the source
  std::string destination;  // empty: none
  std::optional<MutationJob> companion;
};

Result<void> check_move(const Move& move) {
  TRY(check_key(move.partition_key));
  TRY(check_key(move.row_key));
  if (move.companion) {
    const auto& companion = *move.companion;
    if (companion.mutation.lenient) return fail(ErrorCode::kInvalidInput);
    TRY(check_key(companion.partition_key));
    TRY(check_mutation(companion.partition_key, companion.mutation));
  }
  return check_operation_id(move.fence.operation_id);
}

MoveJob make_job(const std::string& account, Version now, Move move) {
  MoveJob job;
  job.back = move.back;
  job.destination = std::move(move.destination);
  auto& entity = job.entity;
  entity.account = account;
  entity.table = std::move(move.source);
  entity.partition_key = std::move(move.partition_key);
  entity.now = now;
  entity.fence = std::move(move.fence);
  entity.mutations.resize(2);
  entity.mutations[kCopy].kind = MutationKind::kInsertOrReplace;
  entity.mutations[kErasure].kind = MutationKind::kErase;
  for (auto& mutation : entity.mutations) mutation.row_key = move.row_key;
  entity.blocks.resize(2);
  if (!move.companion) return job;
  auto& companion = job.companion.emplace();
  companion.account = account;
  companion.table = std::move(move.companion->table);
  companion.partition_key = std::move(move.companion->partition_key);
  companion.blocks.push_back(property_block(move.companion->mutation.properties));
  companion.mutations.push_back(std::move(move.companion->mutation));
  return job;
}

/// The steps of a move, within its transaction.
struct Moving {
  kv::Transaction& txn;
  TableDirectory& directory;
  MoveJob& job;
  Version version = 0;

  [[nodiscard]] Result<std::uint64_t> generation(std::string_view table) const {
    return generation_of(txn, directory, job.entity.account, table);
  }

  Result<void> copy_entity(std::string_view stored) const {
    auto& entity = job.entity;
    const auto destination = TRY(generation(job.destination));
    const auto view = TRY(view_entity(stored));
    auto& copy = entity.mutations[kCopy];
    copy.source_version = job.back ? view.effective_version() : view.version;
    copy.restores = job.back;
    copy.lenient = !job.back;  // what is no copy is in the way
    entity.blocks[kCopy] = view.block;
    const auto copied = TRY(apply_mutation(txn, entity, kCopy, destination, version));
    if (copied.kind == WriteOutcome::kApplied) return {};
    if (copied.kind != WriteOutcome::kUnchanged) {
      return fail(ErrorCode::kUpdateConditionNotSatisfied, "Something else is in the destination.");
    }
    // Another operation has written it, and would take it back once it finds the entity gone: from now on it is ours.
    const auto record = encode_entity(version, copy.source_version, view.block, entity.fence->operation_id, job.back);
    if (!job.back) txn.put(entity_key(destination, entity.partition_key, copy.row_key), record);
    return {};
  }

  Result<void> move_entity() const {
    const auto& entity = job.entity;
    const auto source = TRY(generation(entity.table));
    const auto stored = TRY(txn.get(entity_key(source, entity.partition_key, entity.mutations[kErasure].row_key)));
    if (!stored) return fail(ErrorCode::kResourceNotFound);
    if (!job.destination.empty()) TRY(copy_entity(*stored));
    TRY(apply_mutation(txn, entity, kErasure, source, version));
    return {};
  }

  /// A move closes its operation: it happens once.
  Result<std::uint64_t> run(OperationLedger& ledger) {
    version = TRY(next_version(txn, job.entity.now));
    TRY(move_entity());
    if (job.companion) TRY(apply_mutation(txn, *job.companion, 0, TRY(generation(job.companion->table)), version));
    txn.put(kLastVersionKey, kCounterRecord.encode(static_cast<std::uint64_t>(version)));
    ledger.closed = true;
    return 1;
  }
};

}  // namespace

Task<Result<std::vector<Result<void>>>> TableService::move_all(std::string account, std::vector<Move> moves) {
  if (moves.empty() || moves.size() > kMaxMoves) {
    co_return fail(ErrorCode::kInvalidInput, "A call moves 1 to 100 entities.");
  }
  const auto now = clock_.now().time_since_epoch().count();
  std::vector<MoveJob> jobs;
  for (auto& move : moves) {
    CO_TRY(check_move(move));
    jobs.push_back(make_job(account, now, std::move(move)));
  }
  std::vector<kv::TransactionBody> bodies;
  for (auto& job : jobs) {
    bodies.emplace_back([this, &job](kv::Transaction& txn) {
      Moving moving{txn, directory_, job};
      return fenced(txn, job.entity.account, job.entity.fence,
                    [&](OperationLedger& ledger) { return moving.run(ledger); });
    });
  }
  co_return co_await engine_.transact_all(std::move(bodies), &kMoveStep);
}

}  // namespace tidemark::table_store
