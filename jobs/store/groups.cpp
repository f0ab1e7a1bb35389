#include "jobs/store/groups.h"

#include <nlohmann/json.hpp>
#include <set>

#include "common/base/encoding.h"
#include "common/base/fail_points.h"
#include "common/base/json.h"
#include "jobs/spec/spec_members.h"
#include "jobs/store/fields.h"
#include "jobs/store/rows.h"

namespace tidemark::jobs {
namespace {

using nlohmann::json;
using table_store::Entity;
using table_store::Mutation;
using table_store::WriteOutcome;

constexpr const char* kGroupPartition = "groups";
constexpr int kMaxGroupRaces = 16;
constexpr std::size_t kMostErased = 100;  // in one transaction

const FailStep kCountStep("ending.count");
const FailStep kGroupStep("ending.group");

/// Returns the partition of the rows of members that have ended, which is also the operation that counts them.
std::string ends_of(const std::string& group) { return "group-" + group; }

std::string row_of(std::uint32_t number) {
  auto digits = std::to_string(number);
  return std::string(7 - std::min<std::size_t>(7, digits.size()), '0') + digits;
}

constexpr std::tuple kGroupFields{Field{"Members", &Group::members}, Field{"Fingerprint", &Group::fingerprint},
                                  Field{"SubmittedAt", &Group::submitted_at}, Field{"FinishedAt", &Group::finished_at}};

std::vector<table_store::Property> properties_of(const Group& group) {
  std::vector<table_store::Property> out;
  add_properties(out, group, kGroupFields);
  if (group.on_end) out.push_back({"OnEnd", json{{"onEnd", members_json(*group.on_end)}}.dump()});
  return out;
}

Result<Group> group_from(const Entity& entity) {
  Group group;
  group.id = entity.row_key;
  group.version = entity.version;
  read_properties(entity, group, kGroupFields);
  if (group.members < 1 || property<Time>(entity, "SubmittedAt") == nullptr) {
    return fail(ErrorCode::kCorruption, "The row of group " + group.id + " does not have the expected form.");
  }
  const auto on_end = json_or_discarded(property_or<std::string>(entity, "OnEnd"));
  if (on_end.is_object()) {
    SpecMembers in(on_end);
    on_end_member(in, group.on_end);
  }
  return group;
}

std::uint64_t sum(const std::map<JobState, std::uint64_t>& states) {
  std::uint64_t all = 0;
  for (const auto& [state, count] : states) all += count;
  return all;
}

}  // namespace

std::string member_job_id(const Group& group, std::uint32_t number) {
  return job_id_of_message(group.submitted_at, "group\n" + group.id + "\n" + std::to_string(number));
}

Task<Result<Group>> Groups::create(Group group) {
  auto inserted = CO_TRY(co_await change_row(tables_, kGroupPartition, write_of(group.id, {}, properties_of(group))));
  if (inserted.has_value()) {
    group.version = *inserted;
    co_return group;
  }
  auto there = CO_TRY(co_await find(group.id));
  if (!there.has_value()) co_return fail(ErrorCode::kServerBusy);
  if (there->fingerprint != group.fingerprint) {
    co_return fail(ErrorCode::kIdempotencyKeyReused, "The group " + group.id + " was submitted with other jobs.");
  }
  co_return std::move(*there);
}

Task<Result<std::optional<Group>>> Groups::find(std::string id) {
  auto entity = CO_TRY(co_await tables_.get(std::string(kJobTable), std::string(kGroupPartition), std::move(id)));
  if (!entity) co_return std::nullopt;
  co_return CO_TRY(group_from(*entity));
}

Task<Result<std::optional<GroupStatus>>> Groups::count_end(GroupMember member, std::string job_id, JobState state) {
  auto group = co_await find(member.id);
  // A message that was written by hand may name any group and number.
  if (!group) co_return fail(std::move(group.error()));
  const bool known = group->has_value() && member.number < (*group)->members;
  if (!known || job_id != member_job_id(**group, member.number)) co_return std::optional<GroupStatus>();

  std::vector<Mutation> mutations{
      write_of(row_of(member.number), {},
               {{"JobId", std::move(job_id)}, {"State", std::string(state_name(state))}, {"EndedAt", clock_.now()}})};
  table_store::Fence fence{ends_of(member.id), 1, std::string(state_name(state))};
  auto counted = co_await kCountStep.around(
      tables_.mutate(std::string(kJobTable), ends_of(member.id), std::move(mutations), std::move(fence)));
  if (counted.failed_with(ErrorCode::kFenced)) co_return std::optional<GroupStatus>();  // the group is being collected
  if (!counted) co_return fail(std::move(counted.error()));

  auto states = CO_TRY(co_await ended(member.id));
  if (sum(states) < (*group)->members) co_return std::optional<GroupStatus>();
  auto finished = CO_TRY(co_await finish(std::move(**group)));
  co_return std::optional<GroupStatus>(GroupStatus{std::move(finished), std::move(states)});
}

Task<Result<Group>> Groups::finish(Group group) {
  for (int race = 0; race < kMaxGroupRaces; ++race) {
    if (group.finished_at) co_return group;
    group.finished_at = clock_.now();
    const auto replaced = CO_TRY(co_await kGroupStep.around(
        change_row(tables_, kGroupPartition, write_of(group.id, group.version, properties_of(group)))));
    if (replaced) co_return group;
    auto there = CO_TRY(co_await find(group.id));
    if (!there.has_value()) break;
    group = std::move(*there);
  }
  co_return fail(ErrorCode::kServerBusy, "The row of group " + group.id + " is being changed by others.");
}

Task<Result<std::map<JobState, std::uint64_t>>> Groups::ended(std::string id) {
  auto ledger = CO_TRY(co_await tables_.read_operation(ends_of(id)));
  std::map<JobState, std::uint64_t> states;
  for (auto state : {JobState::kSucceeded, JobState::kPoisoned, JobState::kCancelled}) {
    states[state] = ledger.counter(state_name(state));
  }
  co_return states;
}

Task<Result<std::map<JobState, std::uint64_t>>> Groups::open(Group group) {
  std::set<std::string> ids;
  for (std::uint32_t i = 0; i < group.members; ++i) ids.insert(member_job_id(group, i));
  std::map<JobState, std::uint64_t> states;
  auto request = rows_of(kJobPartition, "RowKey ge '" + *ids.begin() + "' and RowKey le '" + *ids.rbegin() + "'");
  do {
    auto page = CO_TRY(co_await tables_.query(request));
    for (const auto& entity : page.entities) {
      const auto record = record_from_entity(entity);
      if (record && !is_terminal(record->state) && ids.contains(record->id)) ++states[record->state];
    }
    request.continuation = std::move(page.continuation);
  } while (!request.continuation.empty());
  co_return states;
}

Task<Result<std::optional<GroupStatus>>> Groups::status(std::string id) {
  auto group = CO_TRY(co_await find(id));
  if (!group.has_value()) co_return std::optional<GroupStatus>();
  // Done in this order, so that a member that ends in between is not counted twice.
  auto unfinished = CO_TRY(co_await open(*group));
  auto over = CO_TRY(co_await ended(id));
  GroupStatus out{std::move(*group), std::move(over)};
  const auto left = out.group.members - std::min<std::uint64_t>(out.group.members, sum(out.states));
  const auto running = std::min(unfinished[JobState::kRunning], left);
  out.states[JobState::kRunning] = running;
  out.states[JobState::kQueued] = left - running;
  co_return std::optional<GroupStatus>(std::move(out));
}

Task<Result<std::uint64_t>> Groups::collect(Time limit) {
  std::uint64_t removed = 0;
  auto request = rows_of(kGroupPartition, "SubmittedAt lt datetime'" + to_iso8601(limit) + "'");
  do {
    auto page = CO_TRY(co_await tables_.query(request));
    for (const auto& entity : page.entities) {
      auto group = group_from(entity);
      if (!group || (group->finished_at && *group->finished_at >= limit)) continue;
      if (!group->finished_at) {
        auto unfinished = CO_TRY(co_await open(*group));
        if (sum(unfinished) > 0) continue;
      }
      auto gone = CO_TRY(co_await remove(std::move(*group)));
      if (gone) ++removed;
    }
    request.continuation = std::move(page.continuation);
  } while (!request.continuation.empty());
  co_return removed;
}

Task<Result<bool>> Groups::remove(Group group) {
  // The group's own row is removed last, since it is needed to find the others.
  CO_TRY(co_await tables_.end_operation(ends_of(group.id)));
  for (std::uint32_t first = 0; first < group.members; first += kMostErased) {
    std::vector<Mutation> erasures;
    const auto end = std::min<std::uint32_t>(group.members, first + kMostErased);
    for (auto i = first; i < end; ++i) erasures.push_back(erasure_of(row_of(i), {}));
    CO_TRY(co_await tables_.mutate(std::string(kJobTable), ends_of(group.id), std::move(erasures), std::nullopt));
  }
  CO_TRY(co_await tables_.forget_operation(ends_of(group.id)));
  auto gone = CO_TRY(co_await change_row(tables_, kGroupPartition, erasure_of(group.id, group.version)));
  co_return gone.has_value();
}

}  // namespace tidemark::jobs
