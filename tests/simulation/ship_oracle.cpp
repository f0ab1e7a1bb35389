#include "tests/simulation/ship_oracle.h"

#include <nlohmann/json.hpp>

#include "tests/simulation/own_workers.h"
#include "tests/simulation/table_oracle.h"
#include "tests/simulation/transfer_oracle.h"
#include "tests/support/stored_entities.h"

namespace tidemark::simulation {
namespace {

std::int64_t number_in(const table_store::Entity& entity, std::string_view name) {
  const auto* value = entity.find(name);
  if (value == nullptr) return 0;
  if (const auto* small = std::get_if<std::int32_t>(value)) return *small;
  const auto* large = std::get_if<std::int64_t>(value);
  return large != nullptr ? *large : 0;
}

std::string entry_of(const jobs::JobRecord& job) {
  const auto spec = jobs::parse_stored_spec(job.spec);
  const auto* own = spec ? std::get_if<jobs::OwnSpec>(&spec->work) : nullptr;
  return own != nullptr ? nlohmann::json::parse(own->input).at("of").get<std::string>() : std::string();
}

bool is_ship(const jobs::JobRecord& job) { return job.kind == kShipKind; }

}  // namespace

void ShipOracle::violated(std::string text) { scheduler_.trace().violation(scheduler_.now(), std::move(text)); }

void ShipOracle::committed(const Committed& committed) {
  for (const auto& change : committed.noted.changes) {
    if (!change.key.starts_with('t') || !change.value) continue;
    if (auto table = table_store::kTableRecord.decode(*change.value)) tables_[table->generation] = table->name;
  }
  for (const auto& change : committed.noted.changes) {
    if (change.key.starts_with('e')) entity_changed(tables_[generation_in(change.key)], change);
  }
}

void ShipOracle::entity_changed(const std::string& table, const RowChange& change) {
  if (table != kAuditTable && table != kShipTable && table != kWriteTable) return;
  const auto parts = table_store::parse_entity_key(change.key);
  table_store::Entity entity;
  if (!parts || !change.value || !table_store::decode_entity(*change.value, entity)) {
    return violated("an entity of the shipments cannot be read, or is gone");
  }
  const Row row{number_in(entity, "Epoch"), number_in(entity, "Times")};
  if (table == kAuditTable) entries_.insert(parts->row_key);
  if (table == kShipTable) ships_[{parts->partition_key, parts->row_key}] = row;
  if (table == kWriteTable) writes_[parts->row_key] = row;
}

bool ShipOracle::waits(const std::map<std::string, jobs::JobRecord>& jobs) const {
  return static_cast<std::size_t>(std::ranges::count_if(jobs, [](const auto& job) { return is_ship(job.second); })) <
         entries_.size();
}

void ShipOracle::check_quiet(const std::map<std::string, jobs::JobRecord>& jobs) {
  std::set<std::string> shipped;
  for (const auto& [id, job] : jobs) {
    if (!is_ship(job)) continue;
    ++made_;
    const auto entry = entry_of(job);
    if (!entries_.contains(entry)) violated("R1: job " + id + " is for " + entry + ", which is no entry");
    if (!shipped.insert(entry).second) violated("R1: " + entry + " has made more than one job");
    check_job(job, entry);
  }
  for (const auto& entry : entries_) {
    if (!shipped.contains(entry)) violated("R1: " + entry + " has made no job");
  }
}

void ShipOracle::check_job(const jobs::JobRecord& job, const std::string& entry) {
  if (job.state != jobs::JobState::kSucceeded) {
    return violated("W1: job " + job.id + " is " + std::string(jobs::state_name(job.state)) + ": " + job.error);
  }
  const bool has_steps = !job.end_steps.empty();
  const auto ended_by = static_cast<std::int64_t>(has_steps ? job.end_epoch : job.epoch);
  if (job.result != nlohmann::json{{"epoch", ended_by}}.dump()) {
    violated("W1: job " + job.id + " was ended by delivery " + std::to_string(ended_by) + " with " + job.result);
  }
  for (const auto* part : kShipParts) {
    const auto row = ships_.find({part, entry});
    const auto times = row == ships_.end() ? 0 : row->second.times;
    if (times != (has_steps ? 1 : 0) || (has_steps && row->second.epoch != ended_by)) {
      violated("W2: the step of job " + job.id + " in " + part + " was taken " + std::to_string(times) + " times");
    }
  }
  if (has_steps) return;
  const auto written = writes_.find(entry);
  if (written == writes_.end() || written->second.epoch != ended_by) {
    violated("W3: " + entry + " is not as delivery " + std::to_string(ended_by) + " wrote it before it ended the job");
  }
}

}  // namespace tidemark::simulation
