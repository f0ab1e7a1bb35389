#include "workers/indexes/build_claims.h"

#include "common/base/encoding.h"
#include "workers/runtime/fail_points.h"

namespace tidemark::workers {
namespace {

constexpr std::string_view kBuild = "job ";
constexpr const char* kRetryAfterMs = "1000";

/// The job that has claimed a destination. In the row, it is one text: the job's id, a space, and the job's source.
struct Claimant {
  std::string job, source;
};

Claimant claimant_of(const jobs::Owner& row) {
  const auto space = row.worker.find(' ');
  if (space == std::string::npos) return {};
  return {row.worker.substr(0, space), row.worker.substr(space + 1)};
}

std::unexpected<Error> busy() {
  auto error = make_error(ErrorCode::kServerBusy, "Another job builds an index in this destination. It goes first.");
  error.fields.emplace_back("retryAfterMs", kRetryAfterMs);
  return fail(std::move(error));
}

Task<Result<bool>> has_ended(jobs::JobStore& jobs, std::string job) {
  const auto record = CO_TRY(co_await jobs.find(std::move(job)));
  co_return !record || jobs::is_terminal(record->state);
}

Fences fences_of(const std::string& name, const jobs::Owner& row) { return {indexes::operation_of(name), row.epoch}; }

/// Removes the follower of a job that has ended, for good: a worker that still runs the job has an earlier epoch.
Task<Result<void>> unfollow(table_store::TableClient& tables, std::string name, jobs::Owner row, std::string source) {
  const auto fence = fences_of(name, row).next();
  CO_TRY(co_await tables.open_operation(fence.operation_id, fence.epoch, 0));
  co_return co_await tables.unfollow(std::move(source), std::move(name));
}

Task<Result<void>> release(table_store::TableClient& tables, indexes::IndexStore& store, std::string name,
                           jobs::Owner row) {
  ++row.epoch;
  CO_TRY(co_await unfollow(tables, name, row, claimant_of(row).source));
  row.worker.clear();
  CO_TRY(co_await store.swap_owner(std::move(name), row));
  co_return Result<void>{};
}

}  // namespace

std::string build_name(std::string_view destination) { return std::string(kBuild) + to_lower_ascii(destination); }

Task<Result<Fences>> claim_build(JobContext& context, std::string source, std::string destination) {
  indexes::IndexStore store(context.tables, context.clock, context.random);
  const auto name = build_name(destination);
  auto row = CO_TRY(co_await store.owner(name));
  const auto before = claimant_of(row);
  ++row.epoch;
  if (!before.job.empty() && before.job != context.job_id()) {
    if (!CO_TRY(co_await has_ended(context.jobs, before.job))) co_return busy();
    CO_TRY(co_await unfollow(context.tables, name, row, before.source));
  }
  row.worker = context.job_id() + " " + source;
  CO_TRY(context.check());
  if (!CO_TRY(co_await fail_points::kIndexClaim.around(store.swap_owner(name, row)))) co_return busy();
  auto fences = fences_of(name, row);
  const auto first = fences.next();
  CO_TRY(co_await context.tables.open_operation(first.operation_id, first.epoch, 0));
  co_return fences;
}

Task<Result<void>> release_build(JobContext& context, std::string source, std::string destination) {
  indexes::IndexStore store(context.tables, context.clock, context.random);
  auto name = build_name(destination);
  auto row = CO_TRY(co_await store.owner(name));
  if (claimant_of(row).job != context.job_id()) co_return Result<void>{};
  auto released = release(context.tables, store, std::move(name), std::move(row));
  co_return co_await fail_points::kIndexRelease.around(std::move(released));
}

Task<Result<void>> release_ended_builds(JobServices services) {
  indexes::IndexStore store(services.tables, services.clock, services.random);
  const auto owners = CO_TRY(co_await store.all_owners());
  for (const auto& [name, row] : owners) {
    const auto claimant = claimant_of(row);
    if (!name.starts_with(kBuild) || claimant.job.empty()) continue;
    if (!CO_TRY(co_await has_ended(services.jobs, claimant.job))) continue;
    CO_TRY(co_await release(services.tables, store, name, row));
  }
  co_return Result<void>{};
}

}  // namespace tidemark::workers
