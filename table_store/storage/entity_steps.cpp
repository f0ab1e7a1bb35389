// The steps of transactions (model/steps.h). Guards, decision, effects and their marks are one kv transaction of the
// shard, with the fence's check.
#include "table_store/model/limits.h"
#include "table_store/model/steps.h"
#include "table_store/storage/mutation_job.h"
#include "table_store/storage/table_keys.h"
#include "table_store/storage/table_rows.h"
#include "table_store/storage/test_switches.h"

namespace tidemark::table_store {
namespace {

const FailStep kStepsStep("table.steps");

/// The entities before the steps of one operation are kept up to so many bytes on each shard.
constexpr std::size_t kMostKept = 4UL << 20;

Result<void> check_guard(const Guard& guard) {
  TRY(check_key(guard.partition_key));
  return check_key(guard.row_key);
}

Result<void> check_request(const StepsRequest& request) {
  TRY(check_operation_id(request.fence.operation_id));
  if (request.deciding < Deciding::kNothing || request.deciding > Deciding::kLast) {
    return fail(ErrorCode::kInvalidInput);
  }
  if (request.note.size() > kMaxNoteBytes) {
    return fail(ErrorCode::kInvalidInput, "What the templates of a transaction read is at most 256 KiB.");
  }
  if (request.steps.size() > kMaxSteps || request.marks.size() > kMaxSteps || request.guards.size() > kMaxSteps) {
    return fail(ErrorCode::kInvalidInput, "A transaction has at most 100 guards and 100 steps.");
  }
  for (const auto& guard : request.guards) TRY(check_guard(guard));
  if (!request.companion) return {};
  if (request.companion->mutation.lenient) return fail(ErrorCode::kInvalidInput);
  TRY(check_key(request.companion->partition_key));
  return check_mutation(request.companion->partition_key, request.companion->mutation);
}

Result<void> check_step(const NumberedMutation& step) {
  if (step.number == 0 || step.mutation.lenient) return fail(ErrorCode::kInvalidInput);
  TRY(check_key(step.partition_key));
  return check_mutation(step.partition_key, step.mutation);
}

MutationJob job_of(const std::string& account, const std::string& table, const std::string& partition_key,
                   Mutation mutation, const Fence& fence, Version now) {
  MutationJob job{account, table, partition_key, {}, fence, now};
  job.blocks.push_back(property_block(mutation.properties));
  job.mutations.push_back(std::move(mutation));
  return job;
}

}  // namespace

/// A request on its way.
struct StepsJob {
  std::string account;
  StepsRequest request;
  TableShard* shard = nullptr;
  std::vector<MutationJob> steps = {};  // those at the beginning that are on the shard
  std::optional<MutationJob> companion = {};
  bool complete = false;  // all of the request's steps are on the shard
  Version now = 0;
  bool entered = false, turned_away = false;
  StepsTaken taken = {};
  std::size_t at = 0;           // the step that is being taken, from 0; their number: none
  std::string last_table = {};  // the one that was looked for last
  NotedFeeds feeds = {};
};

namespace {

/// Takes the steps of a request within its transaction.
class TakingSteps {
 public:
  TakingSteps(kv::Transaction& txn, Version version, const TableShards& shards, StepsJob& job, OperationLedger& ledger)
      : writing_(txn, version), shards_(shards), job_(job), ledger_(ledger) {
    for (const auto& mark : ledger.steps) kept_ += mark.effect.size();
  }

  /// Returns how many steps were taken now.
  Result<std::uint64_t> run() {
    const auto& request = job_.request;
    if (!TRY(decide())) return 0;
    std::uint64_t applied = 0;
    for (job_.at = 0; job_.at < job_.steps.size(); ++job_.at) {
      if (TRY(take_step(request.steps[job_.at].number, job_.steps[job_.at]))) ++applied;
    }
    for (const auto number : request.marks) mark(number, {});
    job_.taken.taken = static_cast<std::uint32_t>(job_.steps.size());
    TRY(end());
    job_.feeds = TRY(writing_.notes.finish());
    if (applied > 0 || job_.taken.ended) {
      writing_.txn.put(kLastVersionKey, kCounterRecord.encode(static_cast<std::uint64_t>(writing_.version)));
    }
    return applied;
  }

 private:
  [[nodiscard]] Result<KnownTable> find(const std::string& table) const {
    job_.last_table = table;
    return shards_.find_to_write(writing_.txn, *job_.shard, job_.account, table);
  }

  /// Decides, if the request does. Returns whether its steps are to be taken.
  Result<bool> decide() {
    const auto& request = job_.request;
    auto& taken = job_.taken;
    if (ledger_.decision) {
      taken.decision = ledger_.decision;
      taken.decided_before = request.deciding != Deciding::kNothing;
      return request.deciding == Deciding::kNothing && !ledger_.decision->withdrawn;
    }
    if (request.deciding == Deciding::kNothing) return true;
    if (request.deciding == Deciding::kGoesAhead) {
      taken.broken_guard = TRY(find_broken_guard());
      if (taken.broken_guard) return false;
    }
    ledger_.decision = Decision{request.deciding == Deciding::kWithdraws, request.note};
    taken.decision = ledger_.decision;
    return !ledger_.decision->withdrawn;
  }

  Result<std::optional<std::uint32_t>> find_broken_guard() const {
    for (std::uint32_t i = 0; i < job_.request.guards.size(); ++i) {
      const auto& guard = job_.request.guards[i];
      if (&shards_.of(job_.account, guard.table, guard.partition_key) != job_.shard) continue;
      if (TRY(version_of(guard)) != guard.version) return std::optional(i);
    }
    return std::nullopt;
  }

  Result<std::optional<Version>> version_of(const Guard& guard) const {
    const auto generation = TRY(find(guard.table)).generation;
    const auto stored = TRY(writing_.txn.get(entity_key(generation, guard.partition_key, guard.row_key)));
    if (!stored) return std::nullopt;
    return TRY(view_entity(*stored)).version;
  }

  /// Returns false if the step was taken before.
  Result<bool> take_step(std::uint32_t number, const MutationJob& step) {
    const bool forgotten = test_switches().forget_steps.load(std::memory_order_relaxed);
    if (!forgotten && ledger_.find_step(number) != nullptr) return false;
    const auto table = TRY(find(step.table));
    StepEffect effect;
    if (job_.request.keeps_before) TRY(keep_before(step, table, effect));
    const auto outcome = apply_mutation(writing_, step, 0, table);
    const bool missing = step.mutations.front().kind == MutationKind::kErase && !step.mutations.front().if_version &&
                         outcome.failed_with(ErrorCode::kResourceNotFound);
    if (!missing) effect.version = TRY(outcome).version;
    mark(number, encode_effect(effect));
    return true;
  }

  void mark(std::uint32_t number, std::string effect) {
    if (ledger_.find_step(number) == nullptr) {
      ledger_.steps.push_back({number, job_.request.fence.epoch, std::move(effect)});
    }
  }

  Result<void> keep_before(const MutationJob& step, const KnownTable& table, StepEffect& effect) {
    const auto key = entity_key(table.generation, step.partition_key, step.mutations.front().row_key);
    const auto stored = TRY(writing_.txn.get(key));
    const auto block = stored ? std::optional(std::string(TRY(view_entity(*stored)).block)) : std::nullopt;
    const auto bytes = block ? block->size() : 0;
    effect.kept = kept_ + bytes <= kMostKept;
    if (!effect.kept) return {};
    kept_ += bytes;
    effect.before = block;
    return {};
  }

  Result<void> end() {
    if (!job_.companion || !job_.complete) return {};
    TRY(apply_mutation(writing_, *job_.companion, 0, TRY(find(job_.companion->table))));
    ledger_.closed = true;
    job_.taken.ended = true;
    return {};
  }

  Writing writing_;
  const TableShards& shards_;
  StepsJob& job_;
  OperationLedger& ledger_;
  std::size_t kept_ = 0;
};

StepsJob make_job(std::string account, StepsRequest request, TableShards& shards, std::size_t shard, Version now) {
  StepsJob job{std::move(account), std::move(request), &shards[shard]};
  job.now = now;
  const auto here = [&](const std::string& table, const std::string& partition_key) {
    return shards.to_write(job.account, table, partition_key).number == shard;
  };
  for (const auto& step : job.request.steps) {
    if (!here(step.table, step.partition_key)) break;
    auto& made = job.steps.emplace_back(
        job_of(job.account, step.table, step.partition_key, step.mutation, job.request.fence, now));
    made.shard = job.shard;
  }
  job.complete = job.steps.size() == job.request.steps.size();
  const auto& companion = job.request.companion;
  const bool at_home = shards.home_of(job.account, job.request.fence.operation_id).number == shard;
  if (companion && at_home && here(companion->table, companion->partition_key)) {
    job.companion =
        job_of(job.account, companion->table, companion->partition_key, companion->mutation, job.request.fence, now);
    job.companion->shard = job.shard;
  }
  return job;
}

}  // namespace

std::size_t TableService::shard_at(const calls::StepsPlace& place) const {
  const auto& request = place.request;
  if (request.at) return shard_of(place.account, request.at->table, request.at->partition_key);
  return home_of(place.account, request.fence.operation_id);
}

Result<void> TableService::take(kv::Transaction& txn, StepsJob& steps) {
  steps.taken = {};
  steps.turned_away = false;
  steps.at = steps.steps.size();
  const auto effect = [&](OperationLedger& ledger) -> Result<std::uint64_t> {
    return TakingSteps(txn, TRY(next_version(txn, steps.now)), shards_, steps, ledger).run();
  };
  steps.turned_away =
      !TRY(fenced_on(steps.shard->number, txn, steps.account, steps.request.fence, steps.entered, effect));
  return {};
}

Task<Result<std::variant<StepsTaken, StepFailure>>> TableService::take_steps(std::string account,
                                                                             StepsRequest request) {
  CO_TRY(check_request(request));
  for (const auto& step : request.steps) {
    if (auto checked = check_step(step); !checked) co_return StepFailure{std::move(checked.error()), step.number};
  }
  const auto shard = shard_at(calls::StepsPlace{account, request});
  auto job = make_job(std::move(account), std::move(request), shards_, shard, clock_.now().time_since_epoch().count());
  const auto body = [this, &job](kv::Transaction& txn) { return take(txn, job); };
  auto& engine = job.shard->engine;
  auto done = co_await engine.transact(body, &kStepsStep);
  // In a store of several shards, this one may lack the epoch, or a copy of a table.
  for (Preparation preparation; shards_.divided();) {
    MutationJob lacking{job.account, job.last_table, {}, {}, job.request.fence};
    lacking.shard = job.shard;
    lacking.turned_away = job.turned_away;
    if (!co_await prepare_again(lacking, done, preparation)) break;
    job.entered = job.entered || lacking.entered;
    preparation.next_round();
    done = co_await engine.transact(body, &kStepsStep);
  }
  if (!done && job.at < job.steps.size()) {
    co_return StepFailure{std::move(done.error()), job.request.steps[job.at].number};
  }
  if (!done) co_return fail(std::move(done.error()));
  announce(job.feeds, co_await asio::this_coro::executor);
  co_return std::move(job.taken);
}

}  // namespace tidemark::table_store
