// What an endpoint's answer means for the job that called it; see callback.h.
#pragma once
#include "jobs/callbacks/callback_policy.h"
#include "workers/outbound/outbound_http.h"
#include "workers/outbound/webhook_signature.h"
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

/// What a worker needs for callbacks: which hosts it may call, the secrets that it signs with, and the HTTP client.
/// Constant while the worker runs.
struct CallbackServices {
  jobs::CallbackPolicy policy;
  SigningSecrets secrets;
  OutboundHttp* http = nullptr;
};

/// kServerBusy, kCallbackFailed or kCallbackRefused unless the endpoint took it. `secrets`: texts that must not show up
/// in the message should the endpoint repeat them.
Result<void> judge_reply(const OutboundReply& reply, const std::string& origin,
                         const std::vector<std::string>& secrets);

}  // namespace tidemark::workers
