#include "workers/kinds/archive/side.h"

namespace tidemark::workers {

std::vector<Unit> Side::units(std::vector<Entity> entities) {
  std::vector<Unit> out;
  for (auto& group : partition_groups(std::move(entities))) out.push_back({std::move(group), {}});
  return out;
}

nlohmann::json Side::note(const std::vector<Unit>& units) const {
  auto keys = nlohmann::json::array();
  for (const auto& unit : units) {
    for (const auto& entity : unit.entities) {
      keys.push_back(nlohmann::json::array({entity.partition_key, entity.row_key, put_version(entity)}));
    }
  }
  return keys;
}

Task<Result<PutEnd>> Side::end_of_shared(std::string operation, const table_store::TableClient* there) {
  if (operation.empty() || operation == context_.job_id()) co_return PutEnd::kThere;
  std::optional<jobs::JobRecord> job;
  // A job that has written to a table has a ledger in the table's account; a job that archives to objects has one in
  // the account where it counts.
  if (there == nullptr) job = CO_TRY(co_await context_.jobs.find(operation));
  const auto counts_in = job ? jobs::ledger_accounts(*job).front() : std::string();
  const auto tables = context_.jobs.tables_in(there != nullptr ? there->account() : counts_in);
  const auto ledger = CO_TRY(co_await tables->read_operation(operation));
  if (ledger.closed) co_return PutEnd::kThere;
  if (there != nullptr) job = CO_TRY(co_await context_.jobs.find(std::move(operation)));
  // Its record and its ledger were collected. If only the ledger is missing, the job may not have written to a table
  // yet.
  if (!job.has_value() && ledger.epoch == 0) co_return PutEnd::kThere;
  // A job that was sent back from poison takes no copy back (mover.h).
  const bool poisoned = job.has_value() && job->state == jobs::JobState::kPoisoned;
  co_return poisoned ? PutEnd::kThere : PutEnd::kAnothers;
}

std::vector<NotedEntity> entities_of_note(const nlohmann::json& note) {
  std::vector<NotedEntity> out;
  if (!note.is_array()) return out;
  for (const auto& each : note) {
    if (!each.is_array() || each.size() < 2 || !each[0].is_string() || !each[1].is_string()) continue;
    auto& noted = out.emplace_back();
    noted.key = {each[0].get<std::string>(), each[1].get<std::string>()};
    if (each.size() > 2 && each[2].is_number_integer()) noted.version = each[2].get<table_store::Version>();
  }
  return out;
}

}  // namespace tidemark::workers
