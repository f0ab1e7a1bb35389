// The spans of a job. Their ids follow from what the job is, so that whoever has to know one does, whichever worker
// that is and however often it is asked:
//   request that submitted it -> job, from its submission to its end -> each delivery to a worker -> request of a callback
//                                 |-> job that tells of its end, or follows it (then)
// A job has a trace if it was submitted with one. Pure.
#pragma once
#include <cstdint>
#include <string_view>

#include "common/base/trace_context.h"

namespace tidemark::jobs {

/// `submitted`: JobSpec::trace. Without a trace, these have none.
TraceContext job_trace(const TraceContext& submitted, std::string_view job_id);
TraceContext delivery_trace(const TraceContext& submitted, std::string_view job_id, std::uint64_t epoch);

}  // namespace tidemark::jobs
