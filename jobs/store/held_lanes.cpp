#include "jobs/store/held_lanes.h"

namespace tidemark::jobs {

HeldLanes::HeldLanes(JobStore& jobs, table_store::TableClient& tables)
    : jobs_(jobs), rows_(tables, kJobTable, std::string(kLanePartition)) {}

Task<Result<void>> HeldLanes::hold(JobSpec spec, std::string job_id) {
  if (!holds_lane(spec)) co_return Result<void>{};
  std::vector<table_store::Property> properties{{"JobId", std::move(job_id)}};
  co_return co_await rows_.put(spec.cause->lane, std::move(properties));
}

Task<Result<std::optional<std::string>>> HeldLanes::holder(JobSpec spec, std::string job_id) {
  if (!holds_lane(spec)) co_return std::nullopt;
  const auto row = CO_TRY(co_await rows_.find(spec.cause->lane));
  if (!row) co_return std::nullopt;
  auto other = property_or<std::string>(*row, "JobId");
  if (other == job_id) co_return std::nullopt;  // it was sent back
  const auto record = is_job_id(other) ? CO_TRY(co_await jobs_.find(other)) : std::nullopt;
  if (record && !is_over(record->state) && !CO_TRY(co_await jobs_.is_gone(*record)))
    co_return std::optional(std::move(other));
  CO_TRY(co_await rows_.erase(spec.cause->lane, row->version));
  co_return std::nullopt;
}

}  // namespace tidemark::jobs
