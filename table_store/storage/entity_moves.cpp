// Moves of single entities (model/move.h). The copy is made from the stored bytes, in the transaction that erases them,
// so there is no moment at which an entity is in both tables or has changed in between.
#include "common/kv/transact_together.h"
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
  Writing writing;
  const TableShards& shards;
  MoveJob& job;

  [[nodiscard]] Result<KnownTable> find(std::string_view table) const {
    return shards.find_to_write(writing.txn, *job.entity.shard, job.entity.account, table);
  }

  /// Takes over a copy that another operation has written: that operation would remove it once it finds the entity
  /// gone.
  Result<void> take_over_copy(const KnownTable& destination, std::string_view block) {
    const auto& partition_key = job.entity.partition_key;
    const auto& copy = job.entity.mutations[kCopy];
    const auto key = entity_key(destination.generation, partition_key, copy.row_key);
    if (destination.capture) {
      const auto stored = TRY(writing.txn.get(key));
      if (!stored) return fail(ErrorCode::kCorruption);
      const auto before = TRY(view_entity(*stored));
      TRY(writing.notes.note(destination.capture, partition_key, copy.row_key, &before, NoteKind::kPut, {}, block,
                             job.entity.fence->cause));
    }
    writing.txn.put(key, encode_entity(writing.version, copy.source_version, block, job.entity.fence->operation_id));
    return {};
  }

  Result<void> copy_entity(std::string_view stored) {
    auto& entity = job.entity;
    const auto destination = TRY(find(job.destination));
    const auto view = TRY(view_entity(stored));
    auto& copy = entity.mutations[kCopy];
    copy.source_version = job.back ? view.effective_version() : view.version;
    copy.restores = job.back;
    copy.lenient = !job.back;  // an entity that is not a copy is in the way
    entity.blocks[kCopy] = view.block;
    const auto copied = TRY(apply_mutation(writing, entity, kCopy, destination));
    if (copied.kind == WriteOutcome::kApplied) return {};
    if (copied.kind != WriteOutcome::kUnchanged) {
      return fail(ErrorCode::kUpdateConditionNotSatisfied, "Something else is in the destination.");
    }
    return job.back ? Result<void>{} : take_over_copy(destination, view.block);
  }

  Result<void> move_entity() {
    const auto& entity = job.entity;
    const auto source = TRY(find(entity.table));
    const auto key = entity_key(source.generation, entity.partition_key, entity.mutations[kErasure].row_key);
    const auto stored = TRY(writing.txn.get(key));
    if (!stored) return fail(ErrorCode::kResourceNotFound);
    if (!job.destination.empty()) TRY(copy_entity(*stored));
    TRY(apply_mutation(writing, entity, kErasure, source));
    return {};
  }

  /// Runs the move and closes its operation: it happens once.
  Result<std::uint64_t> run(OperationLedger& ledger) {
    TRY(move_entity());
    if (job.companion) TRY(apply_mutation(writing, *job.companion, 0, TRY(find(job.companion->table))));
    job.entity.feeds = TRY(writing.notes.finish());
    writing.txn.put(kLastVersionKey, kCounterRecord.encode(static_cast<std::uint64_t>(writing.version)));
    ledger.closed = true;
    return 1;
  }
};

/// Returns the shard that has the entity, its destination, the companion and the operation. Null: several shards have
/// them, or the shard is not served here.
TableShard* find_shard(const TableShards& shards, const MoveJob& job) {
  const auto& entity = job.entity;
  auto* shard = &shards.to_write(entity.account, entity.table, entity.partition_key);
  if (!shards.here(shard->number)) return nullptr;
  if (!shards.divided()) return shard;
  const auto here = [&](const TableShard& other) { return &other == shard; };
  const auto* companion = job.companion ? &*job.companion : nullptr;
  if (!job.destination.empty() && !here(shards.of(entity.account, job.destination, entity.partition_key)))
    return nullptr;
  if (companion != nullptr && !here(shards.of(entity.account, companion->table, companion->partition_key)))
    return nullptr;
  return here(shards.home_of(entity.account, entity.fence->operation_id)) ? shard : nullptr;
}

std::unexpected<Error> refuse_move() {
  return fail(ErrorCode::kNotImplemented,
              "What the move changes is not on one shard of the table store. Copy the entity, then remove it.");
}

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
  std::vector<Result<void>> outcomes(jobs.size());
  std::vector<std::size_t> submitted;
  std::vector<kv::Submission> all;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    auto& job = jobs[i];
    job.entity.shard = find_shard(shards_, job);
    if (job.entity.shard == nullptr) {
      outcomes[i] = refuse_move();
      continue;
    }
    submitted.push_back(i);
    all.push_back({&job.entity.shard->engine, [this, &job](kv::Transaction& txn) -> Result<void> {
                     const auto& entity = job.entity;
                     const auto effect = [&](OperationLedger& ledger) -> Result<std::uint64_t> {
                       Moving moving{Writing(txn, TRY(next_version(txn, entity.now))), shards_, job};
                       return moving.run(ledger);
                     };
                     const auto shard = entity.shard->number;
                     const bool done = TRY(fenced_on(shard, txn, entity.account, *entity.fence, false, effect));
                     return done ? Result<void>{} : refuse_move();
                   }});
  }
  auto done = co_await kv::transact_together(std::move(all), &kMoveStep);
  const auto executor = co_await asio::this_coro::executor;
  for (std::size_t i = 0; i < done.size(); ++i) {
    if (done[i]) announce(jobs[submitted[i]].entity.feeds, executor);
    outcomes[submitted[i]] = std::move(done[i]);
  }
  co_return outcomes;
}

}  // namespace tidemark::table_store
