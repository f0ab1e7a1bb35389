#include "workers/indexes/suspects.h"

#include <set>

namespace tidemark::workers {

void Suspects::add(const Wrong& wrong, const Visits& visits) {
  for (const auto& entity : wrong) {
    if (entity.refers_to && visits.waits_for(*entity.refers_to)) continue;
    suspects_.try_emplace({entity.partition_key, entity.row_key}, entity);
  }
}

void Suspects::acquit(const table_store::ChangesPage& page, Named named, const std::vector<std::string>& taken) {
  if (suspects_.empty()) return;
  if (page.dropped) suspects_.clear();
  std::set<std::pair<std::string, std::string>> changed, concerning;
  for (const auto& entity : page.entities) {
    changed.emplace(entity.partition_key, entity.row_key);
    if (concerns_others(entity, taken)) concerning.emplace(entity.partition_key, entity.row_key);
  }
  std::erase_if(suspects_, [&](const auto& suspect) {
    if (named.have_rows && changed.contains(suspect.first)) return true;
    const auto& refers_to = suspect.second.refers_to;
    return refers_to && named.are_referred && concerning.contains({refers_to->partition_key, refers_to->row_key});
  });
}

Wrong Suspects::take() {
  Wrong wrong;
  for (auto& [key, entity] : std::exchange(suspects_, {})) wrong.push_back(std::move(entity));
  return wrong;
}

}  // namespace tidemark::workers
