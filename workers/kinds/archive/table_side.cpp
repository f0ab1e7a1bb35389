#include "workers/kinds/archive/table_side.h"

#include "table_store/model/limits.h"
#include "workers/runtime/fail_points.h"
#include "workers/runtime/skip_log.h"

namespace tidemark::workers {

using table_store::Mutation;
using table_store::MutationOutcome;
using table_store::WriteOutcome;

namespace {

Mutation copy_of(const Entity& entity, table_store::Version version, bool back) {
  auto mutation = jobs::copy_of(entity.row_key, version, entity.properties);
  mutation.restores = back;
  // An entity that is no copy blocks an archived one. It blocks the original only if it was written since.
  mutation.lenient = !back;
  return mutation;
}

}  // namespace

Task<Result<bool>> TableSide::open() {
  // In the account where the job counts, its operation is open already.
  if (tables_->account() == context_.ledger().account()) co_return false;
  co_return co_await context_.open_in(*tables_);
}

Task<Result<void>> TableSide::close() {
  if (tables_->account() == context_.ledger().account()) co_return Result<void>{};
  co_return co_await context_.close_in(*tables_);
}

Task<Result<RemoveOutcome>> TableSide::remove(std::vector<Entity> entities) {
  auto partition_key = entities.front().partition_key;
  std::vector<Mutation> removals;
  for (const auto& entity : entities) removals.push_back(jobs::erasure_of(entity.row_key, entity.version));
  auto fence = context_.fence(role_.counts_puts ? std::string() : std::string(kDone));
  const auto outcomes = CO_TRY(co_await fail_points::kMoveErase.around(
      tables_->mutate(table_, std::move(partition_key), std::move(removals), std::move(fence))));
  if (outcomes.size() != entities.size()) co_return fail(ErrorCode::kInternalError);
  RemoveOutcome out;
  for (const auto& outcome : outcomes) {
    const bool applied = outcome.kind == WriteOutcome::kApplied;
    if (applied && !role_.counts_puts) ++out.counted;
    const auto otherwise = outcome.kind == WriteOutcome::kConflict ? RemoveEnd::kChanged : RemoveEnd::kGone;
    out.ends.push_back(applied ? RemoveEnd::kRemoved : otherwise);
  }
  co_return out;
}

Task<Result<Unfinished>> TableSide::unfinished(nlohmann::json note) {
  auto noted = entities_of_note(note);
  std::vector<char> copied(noted.size(), 0);
  CO_TRY(co_await context_.side_by_side(noted.size(), [&](std::size_t number) -> Task<Result<void>> {
    CO_TRY(context_.check());
    const auto& [key, version] = noted[number];
    const auto copy = CO_TRY(co_await tables_->get(table_, key.partition_key, key.row_key));
    // Without a copy, the move had not begun: the page's query finds the entity, if it still matches.
    copied[number] = copy.has_value() && copy->source_version.value_or(0) >= std::max(version, table_store::Version{1});
    co_return Result<void>{};
  }));
  Unfinished out;
  for (std::size_t i = 0; i < noted.size(); ++i) {
    if (copied[i] != 0) out.keys.push_back(std::move(noted[i].key));
  }
  co_return out;
}

std::vector<Refused> TableSide::refuse(std::vector<Entity>& entities) {
  std::vector<Refused> out;
  if (!role_.counts_puts) return out;
  // Entities that were kept outside of tables may have been edited there.
  std::erase_if(entities, [&](const Entity& entity) {
    const bool fits = table_store::check_key(entity.partition_key) && table_store::check_key(entity.row_key) &&
                      table_store::check_properties(entity.partition_key, entity.row_key, entity.properties);
    if (!fits) out.push_back({{entity.partition_key, entity.row_key}, kNoEntity});
    return !fits;
  });
  return out;
}

table_store::Version TableSide::put_version(const Entity& entity) const {
  return role_.back ? entity.source_version.value_or(entity.version) : entity.version;
}

Task<Result<PutOutcome>> TableSide::put(Unit unit) {
  std::vector<Mutation> copies;
  for (const auto& entity : unit.entities) copies.push_back(copy_of(entity, put_version(entity), role_.back));
  const auto copied = CO_TRY(co_await put_copies(unit.entities.front().partition_key, std::move(copies)));
  if (copied.size() != unit.entities.size()) co_return fail(ErrorCode::kInternalError);
  PutOutcome out;
  for (std::size_t i = 0; i < copied.size(); ++i) {
    const auto& entity = unit.entities[i];
    if (role_.counts_puts && copied[i].kind == WriteOutcome::kApplied) ++out.counted;
    out.ends.push_back(CO_TRY(co_await end_of(copied[i], {entity.partition_key, entity.row_key}, entity.version)));
  }
  co_return out;
}

Task<Result<std::vector<MutationOutcome>>> TableSide::put_copies(std::string partition_key,
                                                                 std::vector<Mutation> copies) {
  // The tables of a bulk job were checked at its start; one entity's job asks only when it must.
  std::vector<Mutation> again;
  if (role_.make_when_missing) again = copies;
  auto fence = context_.fence(role_.counts_puts ? std::string(kDone) : std::string());
  auto copied =
      co_await fail_points::kMoveCopy.around(tables_->mutate(table_, partition_key, std::move(copies), fence));
  if (again.empty() || !copied.failed_with(ErrorCode::kTableNotFound)) co_return copied;
  CO_TRY(co_await prepare());
  co_return co_await tables_->mutate(table_, std::move(partition_key), std::move(again), std::move(fence));
}

Task<Result<PutEnd>> TableSide::end_of(MutationOutcome outcome, jobs::EntityKey key, table_store::Version version) {
  if (outcome.kind == WriteOutcome::kUnchanged && !role_.back) {
    auto copy = CO_TRY(co_await tables_->get(table_, std::move(key.partition_key), std::move(key.row_key)));
    // The job that wrote it has taken it back.
    if (!copy.has_value() || copy->source_version != version) co_return PutEnd::kReadAgain;
    co_return co_await end_of_shared(std::move(copy->operation), tables_.get());
  }
  if (outcome.kind == WriteOutcome::kApplied || outcome.kind == WriteOutcome::kUnchanged) co_return PutEnd::kThere;
  if (outcome.kind == WriteOutcome::kConflict) co_return PutEnd::kInTheWay;
  if (!role_.back) co_return PutEnd::kReadAgain;
  co_return outcome.source_version ? PutEnd::kNewerCopy : PutEnd::kInTheWay;
}

Task<Result<void>> TableSide::take_back(std::string, std::vector<jobs::EntityKey> keys) {
  for (auto& key : keys) {
    CO_TRY(context_.check());
    const auto copy = CO_TRY(co_await tables_->get(table_, key.partition_key, key.row_key));
    const bool own = copy.has_value() && copy->source_version && copy->operation == context_.job_id();
    if (!own) continue;
    std::vector<Mutation> erasures{jobs::erasure_of(std::move(key.row_key), copy->version)};
    CO_TRY(co_await fail_points::kMoveTakeBack.around(
        tables_->mutate(table_, std::move(key.partition_key), std::move(erasures), context_.fence({}))));
  }
  co_return Result<void>{};
}

}  // namespace tidemark::workers
