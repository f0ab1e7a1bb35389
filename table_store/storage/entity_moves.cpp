// Moves of single entities (model/move.h). The copy is made of the stored bytes, in the transaction that erases them,
// so there is no moment at which an entity is in both tables or has changed in between.
#include "table_store/model/limits.h"
#include "table_store/storage/mutation_job.h"
#include "table_store/storage/table_keys.h"

namespace tidemark::table_store {
namespace {

const FailStep kMoveStep("table.move");

constexpr std::size_t kCopy = 0;
constexpr std::size_t kErasure = 1;

struct MoveJob {
  bool back = false;
  MutationJob entity;  // the copy and the erasure; its table is the source
  MutationJob target;  // names the destination, if there is one, and nothing else
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

std::shared_ptr<MoveJob> make_job(std::shared_ptr<TableDirectory> directory, const std::string& account, Version now,
                                  Move move) {
  auto job = std::make_shared<MoveJob>();
  job->back = move.back;
  auto& entity = job->entity;
  entity.directory = directory;
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
  job->target.directory = directory;
  job->target.account = account;
  job->target.table = std::move(move.destination);
  if (!move.companion) return job;
  auto& companion = job->companion.emplace();
  companion.directory = std::move(directory);
  companion.account = account;
  companion.table = std::move(move.companion->table);
  companion.partition_key = std::move(move.companion->partition_key);
  companion.blocks.push_back(block_of(move.companion->mutation));
  companion.mutations.push_back(std::move(move.companion->mutation));
  return job;
}

Result<void> copy_entity(kv::Transaction& txn, MoveJob& job, std::string_view stored, Version version) {
  auto& entity = job.entity;
  auto destination = TRY(generation_of(txn, job.target));
  auto view = TRY(view_entity(stored));
  auto& copy = entity.mutations[kCopy];
  copy.source_version = job.back ? view.source_version.value_or(view.version) : view.version;
  copy.restores = job.back;
  copy.lenient = !job.back;  // what is no copy is in the way
  entity.blocks[kCopy] = view.block;
  auto copied = TRY(apply_mutation(txn, entity, kCopy, destination, version));
  if (copied.kind != WriteOutcome::kApplied && copied.kind != WriteOutcome::kUnchanged) {
    return fail(ErrorCode::kUpdateConditionNotSatisfied, "Something else is in the destination.");
  }
  return {};
}

Result<void> move_entity(kv::Transaction& txn, MoveJob& job, Version version) {
  auto& entity = job.entity;
  auto source = TRY(generation_of(txn, entity));
  auto stored = TRY(txn.get(entity_key(source, entity.partition_key, entity.mutations[kErasure].row_key)));
  if (!stored) return fail(ErrorCode::kResourceNotFound);
  if (!job.target.table.empty()) {
    TRY(copy_entity(txn, job, *stored, version));
  }
  TRY(apply_mutation(txn, entity, kErasure, source, version));
  return {};
}

Result<void> run(kv::Transaction& txn, MoveJob& job) {
  const auto& fence = *job.entity.fence;
  auto ledger = TRY(load_ledger(txn, job.entity.account, fence.operation_id));
  TRY(check_fence(ledger, fence.epoch));
  auto version = TRY(next_version(txn, job.entity.now));
  TRY(move_entity(txn, job, version));
  if (job.companion) {
    auto generation = TRY(generation_of(txn, *job.companion));
    TRY(apply_mutation(txn, *job.companion, 0, generation, version));
  }
  txn.put(kLastVersionKey, encode_counter(static_cast<std::uint64_t>(version)));
  if (!fence.count_applied_as.empty()) {
    TRY(add_to_counter(ledger, fence.count_applied_as, 1));
  }
  ledger.closed = true;
  store_ledger(txn, job.entity.account, fence.operation_id, ledger);
  return {};
}

}  // namespace

Task<Result<std::vector<Result<void>>>> TableService::move_all(std::string account, std::vector<Move> moves) {
  if (moves.empty() || moves.size() > kMaxMoves) {
    co_return fail(ErrorCode::kInvalidInput, "A call moves 1 to 100 entities.");
  }
  std::vector<kv::TransactionBody> bodies;
  const auto now = impl_->clock.now().time_since_epoch().count();
  for (auto& move : moves) {
    CO_TRY(check_move(move));
    auto job = make_job(impl_->directory, account, now, std::move(move));
    bodies.emplace_back([job](kv::Transaction& txn) { return run(txn, *job); });
  }
  co_return co_await impl_->engine.transact_all(std::move(bodies), &kMoveStep);
}

}  // namespace tidemark::table_store
