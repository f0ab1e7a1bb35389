// What a worker needs for callbacks: which hosts it may call, the secrets that it signs with, and the HTTP client.
// Constant while the worker runs.
#pragma once
#include "jobs/callbacks/callback_policy.h"
#include "workers/outbound/outbound_http.h"
#include "workers/outbound/webhook_signature.h"

namespace tidemark::workers {

struct CallbackServices {
  jobs::CallbackPolicy policy;
  SigningSecrets secrets;
  OutboundHttp* http = nullptr;
};

}  // namespace tidemark::workers
