// The spans of the calls that workers and the api make, if spans are made: below the span of whoever makes the call,
// named after the method.
#pragma once
#include "common/rpc/zmq_transport.h"
#include "common/tracing/tracer.h"

namespace tidemark::service {

/// What serves calls of a trace, by `dispatch`. Empty if the tracer is off. The tracer must outlive the calls.
rpc::TracedDispatch with_spans(tracing::Tracer& tracer, rpc::Dispatch dispatch);

}  // namespace tidemark::service
