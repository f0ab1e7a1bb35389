#include "jobs/kinds/archive/run/place.h"

namespace tidemark::workers {

Task<Result<void>> Side::begin(std::string, std::uint64_t) {
  const auto limit = context_.limits().max_affected;
  // A job that has begun is guarded step by step.
  if (!limit || context_.checkpoint().is_object()) co_return Result<void>{};
  std::uint64_t found = 0;
  std::string continuation;
  do {
    CO_TRY(context_.check());
    auto page = CO_TRY(co_await read(std::move(continuation)));
    found += page.entities.size();
    if (found > *limit) co_return fail(too_many_selected(*limit));
    continuation = std::move(page.continuation);
  } while (!continuation.empty());
  co_return Result<void>{};
}

Task<Result<void>> Side::report(JobProgress progress, bool force) {
  CO_TRY(co_await context_.report(std::move(progress), force));
  co_return Result<void>{};
}

nlohmann::json keys_note(const std::vector<Unit>& units) {
  auto keys = nlohmann::json::array();
  for (const auto& unit : units) {
    for (const auto& entity : unit.entities) {
      keys.push_back(nlohmann::json::array({entity.partition_key, entity.row_key}));
    }
  }
  return keys;
}

std::vector<jobs::EntityKey> keys_of_note(const nlohmann::json& note) {
  std::vector<jobs::EntityKey> keys;
  if (!note.is_array()) return keys;
  for (const auto& key : note) {
    if (!key.is_array() || key.size() != 2 || !key[0].is_string() || !key[1].is_string()) continue;
    keys.push_back({key[0].get<std::string>(), key[1].get<std::string>()});
  }
  return keys;
}

std::vector<Unit> partition_units(std::vector<Entity> entities) {
  std::vector<Unit> out;
  const auto cuts = partition_groups(entities);
  for (auto& group : cut_up(std::move(entities), cuts)) out.push_back({std::move(group), {}});
  return out;
}

}  // namespace tidemark::workers
