#include "jobs/kinds/archive/run/table_place.h"

#include "workers/runtime/fail_points.h"
#include "workers/runtime/side_by_side.h"

namespace tidemark::workers {

using table_store::Mutation;
using table_store::MutationKind;
using table_store::MutationOutcome;
using table_store::OutcomeKind;

namespace {

Mutation copy_of(const Entity& entity, bool back) {
  Mutation mutation;
  mutation.kind = MutationKind::kInsertOrReplace;
  mutation.row_key = entity.row_key;
  mutation.properties = entity.properties;
  mutation.source_version = back ? entity.source_version.value_or(entity.version) : entity.version;
  return mutation;
}

Mutation removal_of(const Entity& entity) {
  Mutation mutation;
  mutation.kind = MutationKind::kErase;
  mutation.row_key = entity.row_key;
  mutation.if_version = entity.version;
  mutation.lenient = true;
  return mutation;
}

}  // namespace

Task<Result<PlacePage>> TablePlace::read(std::string continuation) {
  auto page = CO_TRY(co_await pages_.read(std::move(continuation)));
  PlacePage out;
  out.entities = std::move(page.entities);
  out.continuation = std::move(page.continuation);
  co_return out;
}

Task<Result<std::optional<Entity>>> TablePlace::get(jobs::EntityKey key) {
  auto entity = co_await context_.tables.get(side_.table, std::move(key.partition_key), std::move(key.row_key));
  // Another operation has moved it here since: it is not what was selected any more.
  const bool other =
      entity && entity->has_value() && !selection_.operation.empty() && (*entity)->operation != selection_.operation;
  if (other) co_return std::optional<Entity>();
  co_return entity;
}

Task<Result<RemoveOutcome>> TablePlace::remove(std::vector<Entity> entities) {
  auto partition_key = entities.front().partition_key;
  std::vector<Mutation> removals;
  for (const auto& entity : entities) removals.push_back(removal_of(entity));
  auto fence = context_.fence(side_.counts_puts ? std::string() : std::string(kDone));
  fail_points::kMoveErase.before.reach();
  auto erased =
      co_await context_.tables.mutate(side_.table, std::move(partition_key), std::move(removals), std::move(fence));
  fail_points::kMoveErase.after.reach();
  if (!erased) co_return fail(std::move(erased.error()));
  if (erased->size() != entities.size()) co_return fail(ErrorCode::kInternalError);
  RemoveOutcome out;
  for (const auto& outcome : *erased) {
    const bool applied = outcome.kind == OutcomeKind::kApplied;
    if (applied && !side_.counts_puts) ++out.counted;
    const auto otherwise = outcome.kind == OutcomeKind::kConflict ? RemoveEnd::kChanged : RemoveEnd::kGone;
    out.ends.push_back(applied ? RemoveEnd::kRemoved : otherwise);
  }
  co_return out;
}

Task<Result<Unfinished>> TablePlace::unfinished(nlohmann::json note) {
  auto keys = keys_of_note(note);
  std::vector<char> copied(keys.size(), 0);
  CO_TRY(co_await side_by_side(context_.clock, keys.size(),
                               [&](std::size_t number) { return look_for_copy(keys[number], copied[number]); }));
  Unfinished out;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (copied[i] != 0) out.keys.push_back(std::move(keys[i]));
  }
  co_return out;
}

Task<Result<void>> TablePlace::look_for_copy(jobs::EntityKey key, char& copied) {
  CO_TRY(context_.check());
  auto copy = CO_TRY(co_await context_.tables.get(side_.table, std::move(key.partition_key), std::move(key.row_key)));
  // Without a copy nothing was begun: the page's query finds the entity, if it still matches.
  copied = copy.has_value() && copy->source_version ? 1 : 0;
  co_return Result<void>{};
}

Task<Result<PutOutcome>> TablePlace::put(Unit unit) {
  const auto partition_key = unit.entities.front().partition_key;
  std::vector<Mutation> copies;
  for (const auto& entity : unit.entities) copies.push_back(copy_of(entity, side_.back));
  auto copied = CO_TRY(co_await put_copies(partition_key, std::move(copies)));
  if (copied.size() != unit.entities.size()) co_return fail(ErrorCode::kInternalError);
  PutOutcome out;
  for (std::size_t i = 0; i < copied.size(); ++i) {
    const auto kind = copied[i].kind;
    if (kind == OutcomeKind::kApplied || kind == OutcomeKind::kUnchanged) {
      if (side_.counts_puts && kind == OutcomeKind::kApplied) ++out.counted;
      out.ends.push_back(PutEnd::kThere);
      continue;
    }
    jobs::EntityKey key{partition_key, unit.entities[i].row_key};
    auto why = CO_TRY(co_await why_superseded(std::move(key), copied[i]));
    out.ends.push_back(why);
  }
  co_return out;
}

Task<Result<std::vector<MutationOutcome>>> TablePlace::put_copies(std::string partition_key,
                                                                  std::vector<Mutation> copies) {
  // The tables of a bulk job were checked at its start; one entity's job asks only when it must.
  std::vector<Mutation> again;
  if (side_.make_when_missing) again = copies;
  auto fence = context_.fence(side_.counts_puts ? std::string(kDone) : std::string());
  fail_points::kMoveCopy.before.reach();
  auto copied = co_await context_.tables.mutate(side_.table, partition_key, std::move(copies), fence);
  fail_points::kMoveCopy.after.reach();
  if (again.empty() || !copied.failed_with(ErrorCode::kTableNotFound)) co_return copied;
  CO_TRY(co_await prepare());
  co_return co_await context_.tables.mutate(side_.table, std::move(partition_key), std::move(again), std::move(fence));
}

Task<Result<PutEnd>> TablePlace::why_superseded(jobs::EntityKey key, MutationOutcome outcome) {
  if (side_.back) co_return outcome.source_version ? PutEnd::kNewerCopy : PutEnd::kInTheWay;
  auto there = CO_TRY(co_await context_.tables.get(side_.table, std::move(key.partition_key), std::move(key.row_key)));
  const bool original = there.has_value() && !there->source_version;
  co_return original ? PutEnd::kInTheWay : PutEnd::kReadAgain;
}

}  // namespace tidemark::workers
