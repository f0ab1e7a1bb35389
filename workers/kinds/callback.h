// Signed requests to endpoints, and the meaning of an answer for the job that sent one; see callback.h.
#pragma once
#include "jobs/callbacks/callback_policy.h"
#include "jobs/kinds/callback/callback.h"
#include "workers/outbound/outbound_http.h"
#include "workers/outbound/webhook_signature.h"
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

/// The services that a worker needs for callbacks: the hosts that it may call, the secrets that it signs with, and the
/// HTTP client. Constant while the worker runs.
struct CallbackServices {
  jobs::CallbackPolicy policy;
  SigningSecrets secrets;
  OutboundHttp* http = nullptr;
};

/// A request that is signed and sent.
struct SignedCall {
  jobs::CallbackSpec spec;
  std::string id;  // the same for each repetition
  std::uint64_t attempt = 1;
  std::uint64_t epoch = 0;  // of the sender; a request with a later epoch supersedes earlier ones
  std::string cause = {};   // the rules that it comes from (jobs/spec/cause.h), passed on
  TraceContext trace = {};  // passed on to the endpoint, if there is one
};
struct SignedReply {
  OutboundReply reply;
  std::string origin;
  std::vector<std::string> secrets;  // texts that must not show up in messages
};
/// Sends it once. kCallbackRefused, also if this worker sends no callbacks; kCallbackFailed.
Task<Result<SignedReply>> send_signed(const CallbackServices* services, Clock& clock, SignedCall call);

/// kServerBusy, kCallbackFailed or kCallbackRefused unless the endpoint accepted the request. `secrets`: texts that
/// must not show up in the message should the endpoint repeat them.
Result<void> judge_reply(const OutboundReply& reply, const std::string& origin,
                         const std::vector<std::string>& secrets);

}  // namespace tidemark::workers
