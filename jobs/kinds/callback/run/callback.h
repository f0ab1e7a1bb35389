// A signed request to a user's endpoint. It is sent again until the endpoint has taken it, always with the same
// webhook-id (the job's), so that the endpoint can tell a repetition: a worker that dies after the request and before
// the job's end has it sent twice. What the answer means:
//   2xx                                    done
//   429; 408 and 503 with Retry-After      later, as the endpoint says; not counted as an attempt
//   other 5xx, 408, no answer              tried again
//   everything else, redirects too         poison at once
#pragma once
#include "workers/outbound/outbound_http.h"
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

Task<Result<JobOutcome>> run_callback(JobContext& context, jobs::CallbackSpec spec);

/// kServerBusy, kCallbackFailed or kCallbackRefused unless the endpoint took it. `secrets`: texts that must not show up
/// in the message should the endpoint repeat them.
Result<void> judge_reply(const OutboundReply& reply, const std::string& origin,
                         const std::vector<std::string>& secrets);

}  // namespace tidemark::workers
