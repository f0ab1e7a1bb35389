#include "workers/indexes/row_writer.h"

#include <algorithm>
#include <unordered_map>

#include "common/base/encoding.h"
#include "common/base/side_by_side.h"
#include "jobs/store/job_record.h"
#include "jobs/store/rows.h"
#include "table_store/model/limits.h"
#include "workers/runtime/fail_points.h"

namespace tidemark::workers {
namespace {

using table_store::PartitionMutations;

constexpr std::size_t kMutationsInACall = 1000;
constexpr std::size_t kBytesInACall = 3UL << 20;
/// While the store writes one call to its disk, it works on the next.
constexpr std::size_t kCallsAtOnce = 3;

std::size_t bytes_of(const table_store::Mutation& mutation) {
  return 64 + mutation.row_key.size() + table_store::properties_bytes(mutation.properties);
}

std::size_t bytes_of(const PartitionMutations& group) {
  std::size_t bytes = group.partition_key.size();
  for (const auto& mutation : group.mutations) bytes += bytes_of(mutation);
  return bytes;
}

struct Call {
  std::size_t first = 0;  // the index of its first group
  table_store::calls::MutateAll all;
};

/// Divides the groups into calls; moves their contents.
std::vector<Call> divide(const RowWriting& writing, std::vector<PartitionMutations>& groups) {
  std::vector<Call> calls;
  std::size_t mutations = 0;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto bytes_here = bytes_of(groups[i]);
    mutations += groups[i].mutations.size();
    bytes += bytes_here;
    if (calls.empty() || mutations > kMutationsInACall || bytes > kBytesInACall) {
      calls.push_back({i, {writing.tables.account(), {}, writing.fence}});
      mutations = groups[i].mutations.size();
      bytes = bytes_here;
    }
    calls.back().all.partitions.push_back(std::move(groups[i]));
  }
  return calls;
}

Task<Result<std::vector<Result<Outcomes>>>> mutate_all(const RowWriting& writing,
                                                       const table_store::calls::MutateAll& call) {
  co_return co_await fail_points::kFollowRows.around(writing.tables.mutate_all_of(call));
}

bool only_erases(const PartitionMutations& group) {
  return std::ranges::all_of(group.mutations,
                             [](const auto& mutation) { return mutation.kind == table_store::MutationKind::kErase; });
}

/// Creates missing tables, and sends the groups that failed for lack of one again.
Task<Result<std::vector<Result<Outcomes>>>> mutate_in_tables(const RowWriting& writing,
                                                             const table_store::calls::MutateAll& call) {
  auto outcomes = CO_TRY(co_await mutate_all(writing, call));
  for (std::size_t i = 0; i < outcomes.size() && i < call.partitions.size(); ++i) {
    if (!outcomes[i].failed_with(ErrorCode::kTableNotFound)) continue;
    const auto& group = call.partitions[i];
    if (only_erases(group)) {
      outcomes[i] = Outcomes(group.mutations.size(), {table_store::WriteOutcome::kMissing});
      continue;
    }
    if (iequals_ascii(group.table, writing.source)) continue;
    CO_TRY(co_await jobs::ensure_table(writing.tables, group.table));
    auto again = CO_TRY(co_await mutate_all(writing, {call.account, {group}, call.fence}));
    if (!again.empty()) outcomes[i] = std::move(again.front());
  }
  co_return outcomes;
}

}  // namespace

Task<Result<std::vector<Outcomes>>> write_groups(RowWriting writing, std::vector<PartitionMutations>& groups) {
  std::vector<Outcomes> out(groups.size());
  auto calls = divide(writing, groups);
  const auto write = [&](std::size_t number) -> Task<Result<void>> {
    const auto& [first, all] = calls[number];
    const auto count = all.partitions.size();
    auto outcomes = CO_TRY(co_await mutate_in_tables(writing, all));
    if (outcomes.size() != count) {
      co_return fail(error_for_log(ErrorCode::kInternalError, "outcomes are missing"));
    }
    for (std::size_t i = 0; i < count; ++i) out[first + i] = CO_TRY(std::move(outcomes[i]));
    co_return Result<void>{};
  };
  const auto written = co_await side_by_side(writing.clock, calls.size(), write, kCallsAtOnce);
  for (auto& [first, all] : calls) {
    std::ranges::move(all.partitions, groups.begin() + static_cast<std::ptrdiff_t>(first));
  }
  CO_TRY(written);
  co_return out;
}

Task<Result<Outcomes>> write_rows(RowWriting writing, std::string table, std::vector<RowChange>& changes) {
  std::vector<PartitionMutations> groups;
  std::vector<std::vector<std::size_t>> members;  // the changes in each group
  struct Open {
    std::size_t group = 0, bytes = 0;
  };
  std::unordered_map<std::string, Open> open;  // the last group of each partition
  for (std::size_t i = 0; i < changes.size(); ++i) {
    auto& change = changes[i];
    const auto bytes = bytes_of(change.mutation);
    const auto [found, fresh] = open.try_emplace(change.partition_key);
    auto& last = found->second;
    if (fresh || groups[last.group].mutations.size() == table_store::kMaxMutations ||
        last.bytes + bytes > kBytesInACall) {
      last = {groups.size(), 0};
      groups.push_back({table, change.partition_key, {}});
      members.emplace_back();
    }
    last.bytes += bytes;
    groups[last.group].mutations.push_back(std::move(change.mutation));
    members[last.group].push_back(i);
  }
  const auto written = co_await write_groups(std::move(writing), groups);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (std::size_t i = 0; i < members[g].size(); ++i) {
      changes[members[g][i]].mutation = std::move(groups[g].mutations[i]);
    }
  }
  CO_TRY(written);
  Outcomes out(changes.size());
  for (std::size_t g = 0; g < written->size(); ++g) {
    const auto& outcomes = (*written)[g];
    for (std::size_t i = 0; i < outcomes.size() && i < members[g].size(); ++i) out[members[g][i]] = outcomes[i];
  }
  co_return out;
}

}  // namespace tidemark::workers
