#include "jobs/store/worker_list.h"

#include <algorithm>

#include "jobs/store/job_record.h"
#include "jobs/store/rows.h"

namespace tidemark::jobs {
namespace {

using table_store::Mutation;
using table_store::MutationKind;

constexpr const char* kWorkerPartition = "workers";

}  // namespace

Task<Result<void>> WorkerList::beat(WorkerInfo info) {
  Mutation mutation;
  mutation.kind = MutationKind::kInsertOrReplace;
  mutation.row_key = std::move(info.name);
  mutation.properties = {{"Host", std::move(info.host)},       {"Pid", info.pid},
                         {"Concurrency", info.concurrency},    {"Running", info.running},
                         {"Version", std::move(info.version)}, {"StartedAt", info.started_at},
                         {"HeartbeatAt", info.heartbeat_at}};
  CO_TRY(co_await change_row(tables_, kWorkerPartition, std::move(mutation)));
  co_return Result<void>{};
}

Task<Result<void>> WorkerList::leave(std::string name) {
  CO_TRY(co_await change_row(tables_, kWorkerPartition, erasure_of(std::move(name), {})));
  co_return Result<void>{};
}

Task<Result<WorkerPage>> WorkerList::list(std::uint32_t limit, std::string continuation) {
  table_store::QueryRequest request;
  request.table = std::string(kJobTable);
  request.filter = std::string("PartitionKey eq '") + kWorkerPartition + "'";
  request.top = std::clamp<std::uint32_t>(limit, 1, 1000);
  request.continuation = std::move(continuation);
  auto page = CO_TRY(co_await tables_.query(std::move(request)));
  WorkerPage out;
  out.continuation = std::move(page.continuation);
  for (const auto& entity : page.entities) {
    WorkerInfo info;
    info.name = entity.row_key;
    info.host = property_or<std::string>(entity, "Host");
    info.pid = property_or<std::int64_t>(entity, "Pid");
    info.concurrency = property_or<std::int32_t>(entity, "Concurrency");
    info.running = property_or<std::int32_t>(entity, "Running");
    info.version = property_or<std::string>(entity, "Version");
    info.started_at = property_or<Time>(entity, "StartedAt");
    info.heartbeat_at = property_or<Time>(entity, "HeartbeatAt");
    out.workers.push_back(std::move(info));
  }
  co_return out;
}

}  // namespace tidemark::jobs
