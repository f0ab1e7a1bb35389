#include "jobs/limits/limits.h"

#include <algorithm>
#include <cstdio>

#include "common/base/encoding.h"
#include "jobs/store/job_record.h"

namespace tidemark::jobs {
namespace {

using table_store::Entity;

constexpr const char* kControlPartition = "control";
constexpr const char* kSlotPartition = "slots";
constexpr const char* kRatePartition = "rates";

constexpr std::tuple kTargetFields{Field{"Name", &LimitTarget::name}, Field{"Key", &LimitTarget::partition_key}};

/// Returns nothing for a row that is not one of these.
std::optional<Limit> limit_of(const Entity& entity) {
  const auto scope = scope_from_name(property_or(entity, "Scope", std::string("kind")));
  if (!scope) return std::nullopt;
  Limit limit;
  limit.target = {*scope, entity.row_key, {}};
  read_properties(entity, limit.target, kTargetFields);
  read_properties(entity, limit, kLimitFields);
  return limit;
}

std::string slot_row(const std::string& key, std::uint32_t number) {
  char digits[16];
  std::snprintf(digits, sizeof digits, "-%04u", number);
  return key + digits;
}

std::vector<table_store::Property> properties_of(const Limit& limit) {
  std::vector<table_store::Property> out{{"Scope", std::string(scope_name(limit.target.scope))}};
  add_properties(out, limit.target, kTargetFields);
  add_properties(out, limit, kLimitFields);
  return out;
}

}  // namespace

std::string_view scope_name(LimitScope scope) { return name_in(kLimitScopes, scope); }
std::optional<LimitScope> scope_from_name(std::string_view name) { return value_in(kLimitScopes, name); }

LimitTarget kind_target(std::string_view kind) { return {LimitScope::kKind, std::string(kind), {}}; }
LimitTarget table_target(std::string_view table) { return {LimitScope::kTable, std::string(table), {}}; }
LimitTarget partition_target(std::string_view table, std::string_view partition_key) {
  return {LimitScope::kPartition, std::string(table), std::string(partition_key)};
}

std::string limit_key(const LimitTarget& target) {
  if (target.scope == LimitScope::kKind) return target.name;
  if (target.scope == LimitScope::kTable) return "table:" + to_lower_ascii(target.name);
  return "partition:" + to_lower_ascii(target.name) + ":" + hex_encode(sha256(target.partition_key));
}

Limits::Limits(table_store::TableClient& tables, Clock& clock)
    : tables_(tables),
      controls_(tables, kJobTable, kControlPartition),
      slots_(tables, kJobTable, kSlotPartition),
      rates_(tables, kJobTable, kRatePartition),
      clock_(clock) {}

Task<Result<std::vector<Limit>>> Limits::list() {
  std::vector<Limit> out;
  for (const auto& row : CO_TRY(co_await controls_.all(kMaxLimits))) {
    if (auto limit = limit_of(row)) out.push_back(std::move(*limit));
  }
  co_return out;
}

Task<Result<Limit>> Limits::set(LimitTarget target, LimitChange change) {
  const auto key = limit_key(target);
  const auto attempt = [&]() -> Task<Result<std::optional<Limit>>> {
    const auto found = CO_TRY(co_await controls_.find(key));
    auto limit = found ? limit_of(*found).value_or(Limit{}) : Limit{};
    auto version = found ? found->version : 0;
    limit.target = target;
    if (change.paused) limit.paused = *change.paused;
    if (change.max_running) limit.max_running = std::min(*change.max_running, kMaxRunningLimit);
    if (change.max_per_second) limit.max_per_second = std::min(*change.max_per_second, kMaxPerSecondLimit);
    if (change.queue) limit.queue = *change.queue;
    if (limit.nothing_set() && !found) co_return limit;
    if (!found && CO_TRY(co_await list()).size() >= kMaxLimits) {
      co_return fail(ErrorCode::kInvalidInput, "There can be at most " + std::to_string(kMaxLimits) + " limits.");
    }
    const bool written = CO_TRY(co_await (limit.nothing_set() ? controls_.erase(key, version)
                                                              : controls_.swap(key, version, properties_of(limit))));
    co_return written ? std::optional(limit) : std::nullopt;
  };
  co_return co_await until_swapped<Limit>("The limit", attempt);
}

Task<Result<std::optional<LimitSlot>>> Limits::take_slot(std::string key, std::uint32_t slots, std::string holder,
                                                         Duration hold) {
  auto request =
      rows_of(kSlotPartition, "RowKey ge '" + slot_row(key, 0) + "' and RowKey lt '" + slot_row(key, slots) + "'");
  auto page = CO_TRY(co_await tables_.query(std::move(request)));
  const auto now = clock_.now();
  const auto held_by = [](const Entity& entity) { return property_or(entity, "JobId", std::string()); };
  // A delivery that takes a job over takes over its slot too, and never a second one.
  const auto own = std::find_if(page.entities.begin(), page.entities.end(),
                                [&](const Entity& entity) { return held_by(entity) == holder; });
  for (std::uint32_t number = 0; number < slots; ++number) {
    auto row_key = slot_row(key, number);
    if (own != page.entities.end() && own->row_key != row_key) continue;
    LimitSlot slot{std::move(row_key), 0};
    const auto held = std::find_if(page.entities.begin(), page.entities.end(),
                                   [&](const Entity& entity) { return entity.row_key == slot.row_key; });
    if (held != page.entities.end()) {
      if (held != own && property_or(*held, "HeldUntil", Time{}) > now) continue;
      slot.version = held->version;
    }
    if (CO_TRY(co_await keep_slot(slot, holder, hold))) co_return std::optional(std::move(slot));
  }
  co_return std::optional<LimitSlot>();
}

Task<Result<bool>> Limits::keep_slot(LimitSlot& slot, std::string holder, Duration hold) {
  std::vector<table_store::Property> properties{{"JobId", std::move(holder)}, {"HeldUntil", clock_.now() + hold}};
  co_return co_await slots_.swap(slot.row_key, slot.version, std::move(properties));
}

Task<Result<void>> Limits::free_slot(LimitSlot slot) {
  CO_TRY(co_await slots_.erase(std::move(slot.row_key), slot.version));
  co_return Result<void>{};
}

Task<Result<std::map<std::string, std::uint32_t>>> Limits::held() {
  std::map<std::string, std::uint32_t> out;
  for (const auto& row : CO_TRY(co_await slots_.all())) {
    if (property_or(row, "HeldUntil", Time{}) <= clock_.now()) continue;
    ++out[row.row_key.substr(0, row.row_key.rfind('-'))];
  }
  co_return out;
}

Task<Result<Time>> Limits::book(std::string key, std::uint32_t per_second, std::uint64_t amount) {
  const auto takes = std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(static_cast<double>(amount) / static_cast<double>(per_second)));
  const auto attempt = [&]() -> Task<Result<std::optional<Time>>> {
    const auto found = CO_TRY(co_await rates_.find(key));
    const auto from = std::max(clock_.now(), found ? property_or(*found, "BookedUntil", Time{}) : Time{});
    auto version = found ? found->version : 0;
    const bool written = CO_TRY(co_await rates_.swap(key, version, {{"BookedUntil", from + takes}}));
    co_return written ? std::optional(from) : std::nullopt;
  };
  co_return co_await until_swapped<Time>("The limit", attempt);
}

}  // namespace tidemark::jobs
