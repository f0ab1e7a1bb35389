#include "jobs/store/worker_list.h"

#include <algorithm>

#include "common/base/text.h"
#include "jobs/store/job_record.h"
#include "jobs/store/rows.h"

namespace tidemark::jobs {
namespace {

using table_store::Mutation;
using table_store::MutationKind;

constexpr const char* kWorkerPartition = "workers";
constexpr std::string_view kOwnRow = "own:";

Mutation merge_of(const std::string& name, MutationKind kind, std::vector<table_store::Property> properties) {
  Mutation mutation;
  mutation.kind = kind;
  mutation.row_key = std::string(kOwnRow) + name;
  mutation.lenient = kind == MutationKind::kMerge;
  mutation.properties = std::move(properties);
  return mutation;
}

}  // namespace

bool WorkerInfo::serves(std::string_view queue) const {
  if (queues.empty()) return name_of_queue(queue) == kDefaultQueue;  // a worker of an older version
  auto left = std::string_view(queues);
  while (!left.empty()) {
    if (take_item(left) == queue) return true;
  }
  return false;
}

Task<Result<void>> WorkerList::beat(WorkerInfo info) {
  Mutation mutation;
  mutation.kind = MutationKind::kInsertOrReplace;
  mutation.row_key = info.name;
  add_properties(mutation.properties, info, kWorkerFields);
  CO_TRY(co_await change_row(tables_, kWorkerPartition, std::move(mutation)));
  co_return Result<void>{};
}

Task<Result<void>> WorkerList::beat_own(WorkerInfo info) {
  std::vector<table_store::Property> properties;
  info.quiet = false;  // sparse, and so not written
  add_properties(properties, info, kWorkerFields);
  CO_TRY(co_await change_row(tables_, kWorkerPartition,
                             merge_of(info.name, MutationKind::kInsertOrMerge, std::move(properties))));
  co_return Result<void>{};
}

Task<Result<void>> WorkerList::touch_own(std::string name, Time at) {
  CO_TRY(co_await change_row(tables_, kWorkerPartition, merge_of(name, MutationKind::kMerge, {{"HeartbeatAt", at}})));
  co_return Result<void>{};
}

Task<Result<bool>> WorkerList::set_quiet(std::string name, bool quiet) {
  const auto changed =
      CO_TRY(co_await change_row(tables_, kWorkerPartition, merge_of(name, MutationKind::kMerge, {{"Quiet", quiet}})));
  co_return changed.has_value();
}

Task<Result<void>> WorkerList::leave(std::string name) {
  CO_TRY(co_await change_row(tables_, kWorkerPartition, erasure_of(std::move(name), {})));
  co_return Result<void>{};
}

Task<Result<WorkerPage>> WorkerList::list(std::uint32_t limit, std::string continuation) {
  auto request = rows_of(kWorkerPartition);
  request.top = std::clamp<std::uint32_t>(limit, 1, 1000);
  request.continuation = std::move(continuation);
  auto page = CO_TRY(co_await tables_.query(std::move(request)));
  WorkerPage out;
  out.continuation = std::move(page.continuation);
  for (const auto& entity : page.entities) {
    auto& info = out.workers.emplace_back();
    info.name = entity.row_key;
    info.own = info.name.starts_with(kOwnRow);
    if (info.own) info.name.erase(0, kOwnRow.size());
    read_properties(entity, info, kWorkerFields);
  }
  co_return out;
}

}  // namespace tidemark::jobs
