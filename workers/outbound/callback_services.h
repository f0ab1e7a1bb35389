// What a worker needs to carry out callbacks: whom it may call, what it signs with, and how it speaks. Constant while
// the worker runs.
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
