// The spans of the calls that workers and the api make, if spans are made. Each is a child of the caller's span and is
// named after the method.
#pragma once
#include "common/rpc/zmq_transport.h"
#include "common/tracing/tracer.h"

namespace tidemark::service {

/// Returns a dispatch that serves traced calls by `dispatch`; empty if the tracer is off. The tracer must outlive the
/// calls.
rpc::TracedDispatch with_spans(tracing::Tracer& tracer, rpc::Dispatch dispatch);

}  // namespace tidemark::service
