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
    read_properties(entity, info, kWorkerFields);
  }
  co_return out;
}

}  // namespace tidemark::jobs
