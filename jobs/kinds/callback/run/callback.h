// What an endpoint's answer means for the job that called it; see callback.h.
#pragma once
#include "workers/outbound/outbound_http.h"
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

/// kServerBusy, kCallbackFailed or kCallbackRefused unless the endpoint took it. `secrets`: texts that must not show up
/// in the message should the endpoint repeat them.
Result<void> judge_reply(const OutboundReply& reply, const std::string& origin,
                         const std::vector<std::string>& secrets);

}  // namespace tidemark::workers
