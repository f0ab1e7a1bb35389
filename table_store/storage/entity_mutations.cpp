// Entity group transactions. Conditions, fence, effects, counters and the new version are one kv transaction.
//
// Versions: one per transaction, max(now, last + 1), with the last one kept in the store and written together with
// the effects. So versions rise strictly over the whole store, across restarts and clocks that jump back.
#include <set>

#include "common/base/record.h"
#include "common/kv/transact_together.h"
#include "table_store/model/amounts.h"
#include "table_store/model/limits.h"
#include "table_store/storage/mutation_job.h"
#include "table_store/storage/table_keys.h"
#include "table_store/storage/table_rows.h"
#include "table_store/storage/test_switches.h"

namespace tidemark::table_store {
namespace {

const FailStep kMutateStep("table.mutate");
const FailStep kMutateAllStep("table.mutate_all");

Result<void> check_origin(const Mutation& mutation) {
  const bool puts_copy = mutation.kind == MutationKind::kInsertOrReplace && mutation.source_version;
  if ((!puts_copy && mutation.kind != MutationKind::kErase) || mutation.restores) return fail(ErrorCode::kInvalidInput);
  const auto& origin = *mutation.origin;
  if (origin.follower.empty() || origin.follower.size() > kMaxFollowerNameBytes) return fail(ErrorCode::kInvalidInput);
  TRY(check_key(origin.partition_key));
  return check_key(origin.row_key);
}

Result<void> check_adds(const Mutation& mutation) {
  using enum MutationKind;
  if (mutation.adds.empty()) return {};
  if (mutation.kind != kMerge && mutation.kind != kInsertOrMerge) return fail(ErrorCode::kInvalidInput);
  for (const auto& each : mutation.adds) {
    TRY(check_property_name(each.name));
    if (!is_number(each.value)) {
      return fail(ErrorCode::kInvalidInput, "The amount to add to '" + each.name + "' is not a number.");
    }
    if (std::ranges::find(mutation.properties, each.name, &Property::name) != mutation.properties.end()) {
      return fail(ErrorCode::kInvalidInput, "'" + each.name + "' is to be set and added to.");
    }
  }
  return {};
}

}  // namespace

Result<void> check_mutation(std::string_view partition_key, const Mutation& mutation) {
  using enum MutationKind;
  const auto kind = mutation.kind;
  if (kind < kInsert || kind > kErase) return fail(ErrorCode::kInvalidInput);
  if (mutation.if_version && kind != kReplace && kind != kMerge && kind != kErase)
    return fail(ErrorCode::kInvalidInput);
  if (mutation.source_version && kind != kInsert && kind != kInsertOrReplace && kind != kErase) {
    return fail(ErrorCode::kInvalidInput);
  }
  if (mutation.restores && !mutation.source_version) return fail(ErrorCode::kInvalidInput);
  if (mutation.origin) TRY(check_origin(mutation));
  TRY(check_key(mutation.row_key));
  TRY(check_adds(mutation));
  if (kind == kErase) return {};
  return check_properties(partition_key, mutation.row_key, mutation.properties);
}

namespace {

Result<void> check_job(MutationJob& job) {
  const auto& mutations = job.mutations;
  if (mutations.empty()) return fail(ErrorCode::kInvalidInput, "A change set needs at least one change.");
  if (mutations.size() > kMaxMutations) {
    job.at = kMaxMutations - 1;
    return fail(ErrorCode::kInvalidInput,
                "The batch request operation exceeds the maximum 100 changes per change set.");
  }
  job.at = 0;
  TRY(check_key(job.partition_key));
  std::set<std::string_view> rows;
  for (std::size_t i = 0; i < mutations.size(); ++i) {
    job.at = i;
    TRY(check_mutation(job.partition_key, mutations[i]));
    if (mutations.size() == 1) break;  // no other row to compare with
    if (!rows.insert(mutations[i].row_key).second) return fail(ErrorCode::kInvalidDuplicateRow);
  }
  job.at.reset();
  return job.fence ? check_operation_id(job.fence->operation_id) : Result<void>{};
}

/// The result of the row's condition: nothing (continue), or the outcome without a write, or the error of the
/// transaction.
using Verdict = std::optional<MutationOutcome>;

Result<Verdict> refuse(const Mutation& mutation, ErrorCode code, WriteOutcome lenient_kind, Version version) {
  if (!mutation.lenient) return fail(code);
  return MutationOutcome{lenient_kind, version};
}

Result<Verdict> judge_missing(const Mutation& mutation) {
  using enum MutationKind;
  if (mutation.kind == kErase && mutation.origin) return MutationOutcome{WriteOutcome::kMissing, 0};
  if (mutation.kind == kReplace || mutation.kind == kMerge || mutation.kind == kErase) {
    return refuse(mutation, ErrorCode::kResourceNotFound, WriteOutcome::kMissing, 0);
  }
  return std::nullopt;
}

Result<Verdict> judge_existing(const Mutation& mutation, const EntityView& existing) {
  if (mutation.kind == MutationKind::kInsert) {
    return refuse(mutation, ErrorCode::kEntityAlreadyExists, WriteOutcome::kConflict, existing.version);
  }
  const auto& switches = test_switches();
  if (mutation.if_version && *mutation.if_version != existing.version &&
      !switches.ignore_if_version.load(std::memory_order_relaxed)) {
    return refuse(mutation, ErrorCode::kUpdateConditionNotSatisfied, WriteOutcome::kConflict, existing.version);
  }
  // A marked row belongs to the follower that made it.
  if ((mutation.origin || mutation.source_version) && existing.origin != view_of(mutation.origin)) {
    return MutationOutcome{WriteOutcome::kConflict, existing.version};
  }
  if (!mutation.source_version || switches.ignore_source_version.load(std::memory_order_relaxed)) return std::nullopt;
  const bool replaces = mutation.kind == MutationKind::kInsertOrReplace;
  if (mutation.lenient && replaces && !existing.is_copy()) {
    return MutationOutcome{WriteOutcome::kConflict, existing.version};
  }
  if (existing.effective_version() > *mutation.source_version) {
    return MutationOutcome{WriteOutcome::kSuperseded, existing.version, existing.source_version};
  }
  if (replaces && existing.source_version == mutation.source_version) {
    return MutationOutcome{WriteOutcome::kUnchanged, existing.version, existing.source_version};
  }
  return std::nullopt;
}

/// Returns the block of the properties of an entity that a merge makes, with the amounts that it adds.
Result<std::string> made_by_merge(const MutationJob& job, const Mutation& mutation) {
  auto out = mutation.properties;
  std::ranges::copy(mutation.adds, std::back_inserter(out));
  TRY(check_entity_size(job.partition_key, mutation.row_key, out));
  return property_block(out);
}

/// Returns the block of the merged properties: old ones keep their place, new ones follow.
Result<std::string> merged(const MutationJob& job, const Mutation& mutation, const EntityView& existing) {
  std::vector<Property> out;
  std::unordered_map<std::string_view, std::size_t> places;
  auto old = existing.properties();
  while (old.next()) {
    places.emplace(old.name(), out.size());
    out.push_back({std::string(old.name()), value_of(old.value())});
  }
  if (!old.ok() || !old.rest().empty()) return corrupt_record("entity");
  for (const auto& property : mutation.properties) {
    const auto place = places.find(property.name);
    if (place == places.end()) {
      out.push_back(property);
    } else {
      out[place->second].value = property.value;
    }
  }
  for (const auto& amount : mutation.adds) {
    const auto place = places.find(amount.name);
    if (place == places.end()) {
      out.push_back(amount);
    } else {
      out[place->second].value = TRY(sum_of(amount.name, out[place->second].value, amount.value));
    }
  }
  TRY(check_entity_size(job.partition_key, mutation.row_key, out));
  return property_block(out);
}

}  // namespace

Result<MutationOutcome> apply_mutation(Writing& writing, const MutationJob& job, std::size_t index,
                                       const KnownTable& table) {
  using enum MutationKind;
  auto& [txn, version, notes] = writing;
  const auto& mutation = job.mutations[index];
  const auto key = entity_key(table.generation, job.partition_key, mutation.row_key);
  // An unconditional insert-or-replace replaces any row, so it need not read it, if the table has no followers.
  const bool blind = mutation.kind == kInsertOrReplace && !mutation.source_version && !table.capture;
  auto existing = TRY(blind ? Result<std::optional<std::string>>(std::nullopt) : txn.get(key));
  EntityView view;
  if (existing) view = TRY(view_entity(*existing));
  const auto verdict = TRY(existing ? judge_existing(mutation, view) : judge_missing(mutation));
  if (verdict) return *verdict;
  const std::string_view cause = job.fence ? std::string_view(job.fence->cause) : std::string_view();
  const auto note = [&](NoteKind kind, std::string_view block) {
    return notes.note(table.capture, job.partition_key, mutation.row_key, existing ? &view : nullptr, kind,
                      view_of(mutation.origin), block, cause);
  };
  if (mutation.kind == kErase) {
    TRY(note(NoteKind::kErased, {}));
    txn.erase(key);
    return MutationOutcome{WriteOutcome::kApplied, 0};
  }
  if (existing && (mutation.kind == kMerge || mutation.kind == kInsertOrMerge)) {
    const auto block = TRY(merged(job, mutation, view));
    TRY(note(NoteKind::kMerged, block));
    txn.put(key, encode_entity(version, std::nullopt, block));
  } else if (!mutation.adds.empty()) {
    const auto block = TRY(made_by_merge(job, mutation));
    TRY(note(NoteKind::kPut, block));
    txn.put(key, encode_entity(version, std::nullopt, block));
  } else {
    TRY(note(NoteKind::kPut, job.blocks[index]));
    std::string_view operation;
    if (job.fence && mutation.source_version) operation = job.fence->operation_id;
    txn.put(key, encode_entity(version, mutation.source_version, job.blocks[index], operation, mutation.restores,
                               view_of(mutation.origin)));
  }
  return MutationOutcome{WriteOutcome::kApplied, version, mutation.source_version};
}

Result<Version> next_version(const kv::Reader& reader, Version now) {
  auto last = TRY(read_counter(reader, kLastVersionKey));
  const auto next = std::max(now, static_cast<Version>(last) + 1);
  return next % 10 == 0 ? next + 1 : next;
}

namespace {

/// Returns how many mutations were applied. May run again.
Result<std::uint64_t> run(kv::Transaction& txn, const TableShards& shards, MutationJob& job) {
  job.outcomes.clear();
  job.at = 0;
  const auto table = TRY(shards.find_to_write(txn, *job.shard, job.account, job.table));
  job.at.reset();
  Writing writing(txn, TRY(next_version(txn, job.now)));
  std::uint64_t applied = 0;
  for (std::size_t i = 0; i < job.mutations.size(); ++i) {
    job.at = i;
    const auto outcome = TRY(apply_mutation(writing, job, i, table));
    if (outcome.kind == WriteOutcome::kApplied) ++applied;
    job.outcomes.push_back(outcome);
  }
  job.at.reset();
  job.feeds = TRY(writing.notes.finish());
  if (applied > 0) txn.put(kLastVersionKey, kCounterRecord.encode(static_cast<std::uint64_t>(writing.version)));
  return applied;
}

}  // namespace

Result<void> TableService::write(kv::Transaction& txn, MutationJob& job) {
  job.at.reset();
  job.turned_away = false;
  const auto effect = [&](OperationLedger&) { return run(txn, shards_, job); };
  if (job.fence) {
    job.turned_away = !TRY(fenced_on(job.shard->number, txn, job.account, *job.fence, job.entered, effect));
  } else {
    OperationLedger nobodys;
    TRY(effect(nobodys));
  }
  return {};
}

Task<bool> TableService::prepare_again(MutationJob& job, Result<void>& done, Preparation& preparation) {
  const auto& shard = *job.shard;
  const bool turned_away = done && std::exchange(job.turned_away, false);
  if (!turned_away && (shard.number == 0 || !done.failed_with(ErrorCode::kTableNotFound))) co_return false;
  if (preparation.rounds >= Preparation::kMostRounds) {
    done = fail(ErrorCode::kServerBusy);
    co_return false;
  }
  if (turned_away) {
    const auto [entered, is_first] = preparation.entered.try_emplace(shard.number);
    if (is_first) entered->second = co_await enter(shard.number, job.account, *job.fence);
    done = entered->second;
    co_return job.entered = done.has_value();
  }
  if (!preparation.brought.emplace(shard.number, job.table).second) co_return true;
  const auto brought = co_await shards_.bring(shard, job.account, job.table);
  if (!brought) done = fail(brought.error());
  co_return brought && *brought;
}

Task<MutationResult<TableService::MutateResult>> TableService::mutate(std::string account, std::string table,
                                                                      std::string partition_key,
                                                                      std::vector<Mutation> mutations,
                                                                      std::optional<Fence> fence) {
  MutationJob job{std::move(account), std::move(table), std::move(partition_key), std::move(mutations),
                  std::move(fence)};
  job.now = clock_.now().time_since_epoch().count();
  auto done = check_job(job);
  if (done) {
    for (const auto& mutation : job.mutations) job.blocks.push_back(property_block(mutation.properties));
    job.shard = &shards_.to_write(job.account, job.table, job.partition_key);
    const auto body = [this, &job](kv::Transaction& txn) { return write(txn, job); };
    done = co_await job.shard->engine.transact(body, &kMutateStep);
    for (Preparation preparation; shards_.divided() && co_await prepare_again(job, done, preparation);) {
      preparation.next_round();
      done = co_await job.shard->engine.transact(body, &kMutateStep);
    }
  }
  if (!done) co_return std::unexpected(MutationError(std::move(done.error()), job.at));
  announce(job.feeds, co_await asio::this_coro::executor);
  co_return MutateResult{std::move(job.outcomes), std::move(job.blocks)};
}

Task<Result<std::vector<Result<std::vector<MutationOutcome>>>>> TableService::mutate_all(
    std::string account, std::vector<PartitionMutations> partitions, std::optional<Fence> fence) {
  std::size_t mutations = 0;
  for (const auto& partition : partitions) mutations += partition.mutations.size();
  if (mutations == 0 || mutations > kMaxMutationsOfAll || partitions.size() > mutations) {
    co_return fail(ErrorCode::kInvalidInput, "A call makes 1 to 1000 changes, and at least one in each partition.");
  }
  std::vector<MutationJob> jobs;
  std::vector<Result<std::vector<MutationOutcome>>> outcomes(partitions.size());
  std::vector<std::size_t> to_do;
  jobs.reserve(partitions.size());
  const auto now = clock_.now().time_since_epoch().count();
  for (auto& partition : partitions) {
    auto& job = jobs.emplace_back(account, std::move(partition.table), std::move(partition.partition_key),
                                  std::move(partition.mutations), fence, now);
    if (auto checked = check_job(job); !checked) {
      outcomes[jobs.size() - 1] = fail(std::move(checked.error()));
      continue;
    }
    for (const auto& mutation : job.mutations) job.blocks.push_back(property_block(mutation.properties));
    job.shard = &shards_.to_write(job.account, job.table, job.partition_key);
    to_do.push_back(jobs.size() - 1);
  }
  const auto executor = co_await asio::this_coro::executor;
  for (Preparation preparation; !to_do.empty(); preparation.next_round()) {
    std::vector<kv::Submission> all;
    for (const auto at : to_do) {
      all.push_back({&jobs[at].shard->engine, [this, &job = jobs[at]](auto& txn) { return write(txn, job); }});
    }
    auto done = co_await kv::transact_together(std::move(all), &kMutateAllStep);
    std::vector<std::size_t> again;
    for (std::size_t i = 0; i < done.size(); ++i) {
      auto& job = jobs[to_do[i]];
      if (shards_.divided() && co_await prepare_again(job, done[i], preparation)) {
        again.push_back(to_do[i]);
      } else if (done[i]) {
        announce(job.feeds, executor);
        outcomes[to_do[i]] = std::move(job.outcomes);
      } else {
        outcomes[to_do[i]] = fail(std::move(done[i].error()));
      }
    }
    to_do = std::move(again);
  }
  co_return outcomes;
}

}  // namespace tidemark::table_store
