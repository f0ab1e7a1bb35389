#include "jobs/kind_control.h"

#include <algorithm>
#include <cstdio>

#include "jobs/job_record.h"

namespace tidemark::jobs {
namespace {

using table_store::Entity;
using table_store::Mutation;
using table_store::MutationKind;
using table_store::OutcomeKind;

constexpr const char* kControlPartition = "control";
constexpr const char* kSlotPartition = "slots";
constexpr int kMaxRaces = 16;

template <class T>
T value_of(const Entity& entity, std::string_view name, T fallback) {
  const auto* value = entity.find(name);
  const auto* typed = value == nullptr ? nullptr : std::get_if<T>(value);
  return typed == nullptr ? fallback : *typed;
}

KindControl control_of(const Entity& entity) {
  KindControl control;
  control.kind = entity.row_key;
  control.paused = value_of(entity, "Paused", false);
  control.max_running = static_cast<std::uint32_t>(std::max(value_of(entity, "MaxRunning", std::int32_t{0}), 0));
  return control;
}

std::string slot_row(const std::string& kind, std::uint32_t number) {
  char digits[16];
  std::snprintf(digits, sizeof digits, "-%03u", number);
  return kind + digits;
}

std::string in_partition(std::string_view partition) {
  std::string filter = "PartitionKey eq '";
  filter += partition;
  filter += "'";
  return filter;
}

Mutation write_of(std::string row_key, std::optional<table_store::Version> seen) {
  Mutation mutation;
  mutation.kind = seen ? MutationKind::kReplace : MutationKind::kInsert;
  mutation.if_version = seen;
  mutation.row_key = std::move(row_key);
  mutation.lenient = true;
  return mutation;
}

}  // namespace

Task<Result<std::vector<KindControl>>> KindControls::list() {
  table_store::QueryRequest request;
  request.table = std::string(kJobTable);
  request.filter = in_partition(kControlPartition);
  auto task = tables_.query(std::move(request));
  auto page = co_await std::move(task);
  if (!page) co_return fail(std::move(page.error()));
  std::vector<KindControl> out;
  for (const auto& entity : page->entities) out.push_back(control_of(entity));
  co_return out;
}

Task<Result<KindControl>> KindControls::set(std::string kind, std::optional<bool> paused,
                                            std::optional<std::uint32_t> max_running) {
  for (int race = 0; race < kMaxRaces; ++race) {
    auto get_task = tables_.get(std::string(kJobTable), kControlPartition, kind);
    auto found = co_await std::move(get_task);
    if (!found) co_return fail(std::move(found.error()));
    KindControl control;
    std::optional<table_store::Version> seen;
    if (found->has_value()) {
      control = control_of(**found);
      seen = (*found)->version;
    }
    control.kind = kind;
    if (paused) control.paused = *paused;
    if (max_running) control.max_running = std::min(*max_running, kMaxRunningLimit);
    std::vector<Mutation> mutations{write_of(kind, seen)};
    mutations[0].properties = {{"Paused", control.paused},
                               {"MaxRunning", static_cast<std::int32_t>(control.max_running)}};
    auto task = tables_.mutate(std::string(kJobTable), kControlPartition, std::move(mutations), std::nullopt);
    auto outcomes = co_await std::move(task);
    if (!outcomes) co_return fail(std::move(outcomes.error()));
    if (outcomes->front().kind == OutcomeKind::kApplied) co_return control;
  }
  co_return fail(ErrorCode::kServerBusy);
}

Task<Result<std::optional<table_store::Version>>> KindControls::write_slot(std::string row_key,
                                                                           std::optional<table_store::Version> seen,
                                                                           std::string job_id, Duration hold) {
  std::vector<Mutation> mutations{write_of(std::move(row_key), seen)};
  mutations[0].properties = {{"JobId", std::move(job_id)}, {"HeldUntil", clock_.now() + hold}};
  auto task = tables_.mutate(std::string(kJobTable), kSlotPartition, std::move(mutations), std::nullopt);
  auto outcomes = co_await std::move(task);
  if (!outcomes) co_return fail(std::move(outcomes.error()));
  if (outcomes->front().kind != OutcomeKind::kApplied) co_return std::optional<table_store::Version>();
  co_return std::optional<table_store::Version>(outcomes->front().version);
}

Task<Result<std::optional<KindSlot>>> KindControls::take_slot(std::string kind, std::uint32_t slots, std::string job_id,
                                                              Duration hold) {
  table_store::QueryRequest request;
  request.table = std::string(kJobTable);
  request.filter = in_partition(kSlotPartition) + " and RowKey ge '" + slot_row(kind, 0) + "' and RowKey lt '" +
                   slot_row(kind, slots) + "'";
  auto query_task = tables_.query(std::move(request));
  auto page = co_await std::move(query_task);
  if (!page) co_return fail(std::move(page.error()));
  const auto now = clock_.now();
  for (std::uint32_t number = 0; number < slots; ++number) {
    auto row_key = slot_row(kind, number);
    std::optional<table_store::Version> seen;
    const auto held = std::find_if(page->entities.begin(), page->entities.end(),
                                   [&](const Entity& entity) { return entity.row_key == row_key; });
    if (held != page->entities.end()) {
      // A delivery that takes a job over takes its slot over too.
      const bool own = value_of(*held, "JobId", std::string()) == job_id;
      if (!own && value_of(*held, "HeldUntil", Time{}) > now) continue;
      seen = held->version;
    }
    auto write_task = write_slot(row_key, seen, job_id, hold);
    auto written = co_await std::move(write_task);
    if (!written) co_return fail(std::move(written.error()));
    if (written->has_value()) co_return std::optional<KindSlot>(KindSlot{std::move(row_key), **written});
  }
  co_return std::optional<KindSlot>();
}

Task<Result<bool>> KindControls::keep_slot(KindSlot& slot, std::string job_id, Duration hold) {
  auto task = write_slot(slot.row_key, slot.version, std::move(job_id), hold);
  auto written = co_await std::move(task);
  if (!written) co_return fail(std::move(written.error()));
  if (written->has_value()) slot.version = **written;
  co_return written->has_value();
}

Task<Result<void>> KindControls::free_slot(KindSlot slot) {
  Mutation mutation;
  mutation.kind = MutationKind::kErase;
  mutation.row_key = std::move(slot.row_key);
  mutation.if_version = slot.version;
  mutation.lenient = true;
  std::vector<Mutation> mutations{std::move(mutation)};
  auto task = tables_.mutate(std::string(kJobTable), kSlotPartition, std::move(mutations), std::nullopt);
  auto outcomes = co_await std::move(task);
  if (!outcomes) co_return fail(std::move(outcomes.error()));
  co_return Result<void>{};
}

}  // namespace tidemark::jobs
