// The spans of a job. Their ids are derived from the job, so that any worker can compute them, as often as it needs
// them:
//   request that submitted it -> job, from its submission to its end -> each delivery to a worker -> request of a callback
//                                 |-> callback job for its end, or job that follows it (then)
// A job has a trace if it was submitted with one. Pure.
#pragma once
#include <cstdint>
#include <string_view>

#include "common/base/trace_context.h"

namespace tidemark::jobs {

/// `submitted`: JobSpec::trace. Without a trace, the results have none.
TraceContext job_trace(const TraceContext& submitted, std::string_view job_id);
TraceContext delivery_trace(const TraceContext& submitted, std::string_view job_id, std::uint64_t epoch);

}  // namespace tidemark::jobs
