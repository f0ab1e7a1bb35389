#include "workers/kinds/rekey_side.h"

#include "jobs/plan/plan.h"
#include "table_store/model/limits.h"
#include "workers/runtime/fail_points.h"
#include "workers/runtime/skip_log.h"

namespace tidemark::workers {

using nlohmann::json;
using table_store::Mutation;
using table_store::WriteOutcome;

namespace {

constexpr std::string_view kSameKey = "it has this key already";
constexpr std::string_view kCopyStays = "a copy, which stays with its original";

/// One entry of a note.
struct Noted {
  jobs::EntityKey from, to;
  table_store::Version version = 0, carried = 0;
};

/// Tolerant: skips entries that do not have the right form.
std::vector<Noted> read_note(const json& note) {
  std::vector<Noted> out;
  if (!note.is_array()) return out;
  for (const auto& item : note) {
    bool good = item.is_array() && item.size() == 6;
    for (std::size_t i = 0; good && i < 6; ++i) good = i < 4 ? item[i].is_string() : item[i].is_number_integer();
    if (!good) continue;
    out.push_back({{item[0].get<std::string>(), item[1].get<std::string>()},
                   {item[2].get<std::string>(), item[3].get<std::string>()},
                   item[4].get<table_store::Version>(),
                   item[5].get<table_store::Version>()});
  }
  return out;
}

}  // namespace

std::vector<Refused> RekeySide::refuse(std::vector<Entity>& entities) {
  targets_.clear();
  std::set<Keys> taken;
  std::vector<Refused> out;
  std::erase_if(entities, [&](const Entity& entity) {
    const auto reason = refusal(entity, taken);
    if (reason) out.push_back({{entity.partition_key, entity.row_key}, *reason});
    return reason.has_value();
  });
  return out;
}

std::optional<std::string_view> RekeySide::refusal(const Entity& entity, std::set<Keys>& taken) {
  // The job meets its own entities again at their new keys.
  if (entity.operation == context_.job_id()) return "";
  if (entity.origin) return kIndexRow;
  if (entity.is_copy()) return kCopyStays;
  auto key = reach_.key_for(entity);
  if (!key) return kNoKey;
  if (key->partition_key == entity.partition_key && key->row_key == entity.row_key) return kSameKey;
  auto changed = entity;
  jobs::set_values(changed, reach_.sets);
  if (!table_store::check_entity_size(key->partition_key, key->row_key, changed.properties)) return kTooLarge;
  if (!taken.insert({key->partition_key, key->row_key}).second) return kInTheWay;
  targets_.insert_or_assign(keys_of(entity), Target{std::move(*key), next_carried(entity)});
  return std::nullopt;
}

std::vector<Unit> RekeySide::units(std::vector<Entity> entities) {
  std::map<std::string, std::vector<Unit>> by_partition;
  std::map<std::string, std::size_t> bytes;
  for (auto& entity : entities) {
    const auto& partition = target_of(entity).key.partition_key;
    auto& units = by_partition[partition];
    auto& sum = bytes[partition];
    const auto size = jobs::entity_bytes(entity);
    if (units.empty() || units.back().entities.size() == kGroupEntities || sum + size > kGroupBytes) {
      units.push_back({.entities = {}, .name = {}, .partition_key = partition});
      sum = 0;
    }
    sum += size;
    units.back().entities.push_back(std::move(entity));
  }
  std::vector<Unit> out;
  for (auto& [partition, units] : by_partition) std::ranges::move(units, std::back_inserter(out));
  return out;
}

json RekeySide::note(const std::vector<Unit>& units) const {
  auto out = json::array();
  for (const auto& unit : units) {
    for (const auto& entity : unit.entities) {
      const auto& [key, carried] = target_of(entity);
      out.push_back(
          json::array({entity.partition_key, entity.row_key, key.partition_key, key.row_key, entity.version, carried}));
    }
  }
  return out;
}

Task<Result<Unfinished>> RekeySide::unfinished(json note) {
  auto all = read_note(note);
  std::vector<std::optional<Gone>> gone(all.size());
  CO_TRY(co_await context_.side_by_side(all.size(), [&](std::size_t number) -> Task<Result<void>> {
    CO_TRY(context_.check());
    const auto& [from, to, version, carried] = all[number];
    if (!CO_TRY(co_await own({to, carried}))) co_return Result<void>{};
    const auto old = CO_TRY(co_await get(from));
    if (old && old->version == version) co_return co_await take_back({to, carried});
    gone[number] = Gone{from, old.has_value()};
    co_return Result<void>{};
  }));
  // The mover finds out whether this job has removed them.
  Unfinished out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!gone[i]) continue;
    auto& [from, to, version, carried] = all[i];
    targets_.insert_or_assign({from.partition_key, from.row_key}, Target{std::move(to), carried});
    out.gone.push_back(std::move(*gone[i]));
  }
  co_return out;
}

Task<Result<std::vector<std::size_t>>> RekeySide::vacant(const Unit& unit) {
  std::vector<std::string> row_keys;
  for (const auto& entity : unit.entities) row_keys.push_back(target_of(entity).key.row_key);
  const auto found = CO_TRY(co_await context_.tables.get_all(table_, unit.partition_key, std::move(row_keys)));
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) out.push_back(i);
  }
  co_return out;
}

table_store::Version RekeySide::next_carried(const Entity& entity) {
  const table_store::Version now = context_.clock.now().time_since_epoch().count();
  carried_ = std::max({entity.version, context_.record().version, now, carried_ + 1});
  return carried_;
}

Mutation RekeySide::mutation_of(const Entity& entity) const {
  auto changed = entity;
  jobs::set_values(changed, reach_.sets);
  const auto& [key, carried] = target_of(entity);
  auto mutation = jobs::copy_of(key.row_key, carried, std::move(changed.properties));
  mutation.kind = table_store::MutationKind::kInsert;
  mutation.restores = true;
  return mutation;
}

Task<Result<PutOutcome>> RekeySide::put(Unit unit) {
  PutOutcome out;
  out.ends.resize(unit.entities.size(), PutEnd::kInTheWay);
  const auto places = CO_TRY(co_await vacant(unit));
  if (places.empty()) co_return out;
  std::vector<Mutation> mutations;
  for (const auto place : places) mutations.push_back(mutation_of(unit.entities[place]));
  const auto outcomes = CO_TRY(co_await fail_points::kMoveCopy.around(
      context_.tables.mutate(table_, unit.partition_key, std::move(mutations), context_.fence({}))));
  if (outcomes.size() != places.size()) co_return fail(ErrorCode::kInternalError);
  for (std::size_t i = 0; i < places.size(); ++i) {
    bool there = outcomes[i].kind == WriteOutcome::kApplied;
    // The answer may belong to the second arrival of a request.
    if (!there) there = CO_TRY(co_await own(target_of(unit.entities[places[i]]))).has_value();
    if (there) out.ends[places[i]] = PutEnd::kThere;
  }
  co_return out;
}

Task<Result<void>> RekeySide::take_back(std::string, std::vector<jobs::EntityKey> keys) {
  for (auto& key : keys) {
    CO_TRY(co_await take_back(targets_.at({std::move(key.partition_key), std::move(key.row_key)})));
  }
  co_return Result<void>{};
}

Task<Result<std::optional<Entity>>> RekeySide::own(Target target) {
  auto found = CO_TRY(co_await get(std::move(target.key)));
  const bool own = found && found->operation == context_.job_id() && found->source_version == target.carried;
  co_return own ? std::move(found) : std::nullopt;
}

Task<Result<void>> RekeySide::take_back(Target target) {
  CO_TRY(context_.check());
  const auto put = CO_TRY(co_await own(target));
  if (!put) co_return Result<void>{};
  std::vector<Mutation> erasures{jobs::erasure_of(put->row_key, put->version)};
  CO_TRY(co_await fail_points::kMoveTakeBack.around(
      context_.tables.mutate(table_, put->partition_key, std::move(erasures), context_.fence({}))));
  co_return Result<void>{};
}

}  // namespace tidemark::workers
