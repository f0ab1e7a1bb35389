// Entity group transactions. Conditions, fence, effects, counters and the new version are one kv transaction.
//
// Versions: one per transaction, max(now, last + 1), with the last one kept in the store and written together with
// the effects. So versions rise strictly over the whole store, across restarts and clocks that jump back.
#include <set>

#include "table_store/model/limits.h"
#include "table_store/storage/mutation_job.h"
#include "table_store/storage/service_impl.h"
#include "table_store/storage/table_keys.h"
#include "table_store/storage/test_switches.h"

namespace tidemark::table_store {
namespace {

const FailStep kMutateStep("table.mutate");

}  // namespace

std::string block_of(const Mutation& mutation) {
  std::string block;
  ByteWriter out(block);
  if (mutation.kind != MutationKind::kErase) write_properties(out, mutation.properties);
  return block;
}

namespace {

std::unexpected<Error> fail_at(std::size_t index, Error error) {
  error.fields.emplace_back("index", std::to_string(index));
  return fail(std::move(error));
}

}  // namespace

Result<void> check_mutation(std::string_view partition_key, const Mutation& mutation) {
  using enum MutationKind;
  const auto kind = mutation.kind;
  if (kind < kInsert || kind > kErase) return fail(ErrorCode::kInvalidInput);
  if (mutation.if_version && kind != kReplace && kind != kMerge && kind != kErase)
    return fail(ErrorCode::kInvalidInput);
  if (mutation.source_version && kind != kInsertOrReplace && kind != kErase) return fail(ErrorCode::kInvalidInput);
  if (mutation.restores && !mutation.source_version) return fail(ErrorCode::kInvalidInput);
  TRY(check_key(mutation.row_key));
  if (kind == kErase) return {};
  return check_properties(partition_key, mutation.row_key, mutation.properties);
}

namespace {

Result<void> check_job(const MutationJob& job) {
  if (job.mutations.empty()) return fail(ErrorCode::kInvalidInput, "A change set needs at least one change.");
  if (job.mutations.size() > kMaxMutations) {
    return fail_at(kMaxMutations - 1,
                   make_error(ErrorCode::kInvalidInput,
                              "The batch request operation exceeds the maximum 100 changes per change set."));
  }
  if (auto ok = check_key(job.partition_key); !ok) return fail_at(0, std::move(ok.error()));
  std::set<std::string_view> rows;
  for (std::size_t i = 0; i < job.mutations.size(); ++i) {
    if (auto ok = check_mutation(job.partition_key, job.mutations[i]); !ok) return fail_at(i, std::move(ok.error()));
    if (job.mutations.size() == 1) break;  // nothing to be compared with
    if (!rows.insert(job.mutations[i].row_key).second) return fail_at(i, make_error(ErrorCode::kInvalidDuplicateRow));
  }
  return job.fence ? check_operation_id(job.fence->operation_id) : Result<void>{};
}

/// What the row's condition says: go on, or a finished outcome, or the error of the whole transaction.
struct Verdict {
  std::optional<MutationOutcome> settled;
};

Result<Verdict> refuse(const Mutation& mutation, ErrorCode code, WriteOutcome lenient_kind, Version version) {
  if (!mutation.lenient) return fail(code);
  return Verdict{MutationOutcome{lenient_kind, version}};
}

Result<Verdict> judge_missing(const Mutation& mutation) {
  using enum MutationKind;
  if (mutation.kind == kReplace || mutation.kind == kMerge || mutation.kind == kErase) {
    return refuse(mutation, ErrorCode::kResourceNotFound, WriteOutcome::kMissing, 0);
  }
  return Verdict{};
}

Result<Verdict> judge_existing(const Mutation& mutation, const EntityVersions& existing) {
  if (mutation.kind == MutationKind::kInsert) {
    return refuse(mutation, ErrorCode::kEntityAlreadyExists, WriteOutcome::kConflict, existing.version);
  }
  const auto& switches = test_switches();
  if (mutation.if_version && *mutation.if_version != existing.version &&
      !switches.ignore_if_version.load(std::memory_order_relaxed)) {
    return refuse(mutation, ErrorCode::kUpdateConditionNotSatisfied, WriteOutcome::kConflict, existing.version);
  }
  if (mutation.source_version && !switches.ignore_source_version.load(std::memory_order_relaxed)) {
    const bool original = mutation.kind == MutationKind::kInsertOrReplace && !existing.is_copy();
    if (mutation.lenient && original) return Verdict{MutationOutcome{WriteOutcome::kConflict, existing.version}};
    if (existing.effective() > *mutation.source_version) {
      return Verdict{MutationOutcome{WriteOutcome::kSuperseded, existing.version, existing.source_version}};
    }
    if (mutation.kind == MutationKind::kInsertOrReplace && existing.source_version == mutation.source_version) {
      return Verdict{MutationOutcome{WriteOutcome::kUnchanged, existing.version, existing.source_version}};
    }
  }
  return Verdict{};
}

/// Old properties keep their place; new ones follow.
Result<std::vector<Property>> merged(const MutationJob& job, const Mutation& mutation, std::string_view existing) {
  Entity entity;
  TRY(decode_entity(existing, entity));
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < entity.properties.size(); ++i) places.emplace(entity.properties[i].name, i);
  std::vector<Property> out = entity.properties;
  for (const auto& property : mutation.properties) {
    const auto place = places.find(property.name);
    if (place == places.end()) {
      out.push_back(property);
    } else {
      out[place->second].value = property.value;
    }
  }
  TRY(check_entity_size(job.partition_key, mutation.row_key, out));
  return out;
}

}  // namespace

Result<MutationOutcome> apply_mutation(kv::Transaction& txn, const MutationJob& job, std::size_t index,
                                       std::uint64_t generation, Version version) {
  using enum MutationKind;
  const auto& mutation = job.mutations[index];
  const auto key = entity_key(generation, job.partition_key, mutation.row_key);
  // Whatever is there gives way to an unconditional insert-or-replace, so nobody needs to look.
  const bool blind = mutation.kind == kInsertOrReplace && !mutation.source_version;
  auto existing = TRY(blind ? Result<std::optional<std::string>>(std::nullopt) : txn.get(key));
  Result<Verdict> verdict = Verdict{};
  if (existing) {
    auto versions = TRY(decode_entity_versions(*existing));
    verdict = judge_existing(mutation, versions);
  } else {
    verdict = judge_missing(mutation);
  }
  if (!verdict) return fail(std::move(verdict.error()));
  if (verdict->settled) return *verdict->settled;
  if (mutation.kind == kErase) {
    txn.erase(key);
    return MutationOutcome{WriteOutcome::kApplied, 0};
  }
  if (existing && (mutation.kind == kMerge || mutation.kind == kInsertOrMerge)) {
    auto properties = TRY(merged(job, mutation, *existing));
    txn.put(key, encode_entity(version, std::nullopt, properties));
  } else {
    std::string_view operation;
    if (job.fence && mutation.source_version) operation = job.fence->operation_id;
    txn.put(key, encode_entity(version, mutation.source_version, job.blocks[index], operation, mutation.restores));
  }
  return MutationOutcome{WriteOutcome::kApplied, version, mutation.source_version};
}

Result<std::uint64_t> generation_of(const kv::Transaction& txn, TableDirectory& directory, std::string_view account,
                                    std::string_view table) {
  const auto name = table_key(account, table);
  if (const auto known = directory.find(name)) return *known;
  const auto ticket = directory.ticket();
  auto generation = find_generation(txn, account, table);
  if (generation) directory.remember(name, *generation, ticket);
  return generation;
}

Result<Version> next_version(const kv::Reader& reader, Version now) {
  auto last = TRY(read_counter(reader, kLastVersionKey));
  return std::max(now, static_cast<Version>(last) + 1);
}

namespace {

/// Gives how many were applied. May run again.
Result<std::uint64_t> run(kv::Transaction& txn, TableDirectory& directory, MutationJob& job) {
  job.outcomes.clear();
  const auto generation = generation_of(txn, directory, job.account, job.table);
  if (!generation) return fail_at(0, generation.error());
  const auto version = TRY(next_version(txn, job.now));
  std::uint64_t applied = 0;
  for (std::size_t i = 0; i < job.mutations.size(); ++i) {
    auto outcome = apply_mutation(txn, job, i, *generation, version);
    if (!outcome) return fail_at(i, std::move(outcome.error()));
    if (outcome->kind == WriteOutcome::kApplied) ++applied;
    job.outcomes.push_back(*outcome);
  }
  if (applied > 0) txn.put(kLastVersionKey, encode_counter(static_cast<std::uint64_t>(version)));
  return applied;
}

}  // namespace

Task<Result<TableService::MutateResult>> TableService::mutate(std::string account, std::string table,
                                                              std::string partition_key,
                                                              std::vector<Mutation> mutations,
                                                              std::optional<Fence> fence) {
  MutationJob job{std::move(account), std::move(table), std::move(partition_key), std::move(mutations),
                  std::move(fence)};
  job.now = impl_->clock.now().time_since_epoch().count();
  CO_TRY(check_job(job));
  for (const auto& mutation : job.mutations) job.blocks.push_back(block_of(mutation));
  CO_TRY(co_await impl_->engine.transact(
      [&](kv::Transaction& txn) {
        return impl_->ledgers.fenced(txn, job.account, job.fence,
                                     [&](OperationLedger&) { return run(txn, impl_->directory, job); });
      },
      &kMutateStep));
  co_return MutateResult{std::move(job.outcomes), std::move(job.blocks)};
}

}  // namespace tidemark::table_store
