// Logs failures that would otherwise stay unseen: a line for every answer of 500 and above, and for every failed
// background task. At most 20 lines a second are logged, so that a failing disk does not fill another one; the line
// after a gap says how many lines were left out. Thread safe.
#pragma once
#include <string>
#include <string_view>

#include "common/base/async.h"
#include "common/base/trace_context.h"

namespace tidemark::process {

/// Logs "request failed request_id=... operation="..." trace_id=... code=... detail="..."", for errors of the server.
void log_failed_request(std::string_view request_id, std::string_view operation, const Error& error,
                        const TraceContext& trace = {});
/// Does the same for a call from another process of the stack: "internal call failed method=... trace_id=... code=...
/// detail="..."".
void log_failed_call(std::string_view method, const Error& error, const TraceContext& trace = {});
/// Logs "refused a link of another machine key=... address=...".
void log_refused_key(const std::string& public_key, const std::string& address);
/// Logs "background task failed task=... code=... detail="..."". For tasks that continue after a failure.
void log_failed_task(std::string_view task, const Error& error);
/// Starts a task that nothing waits for; its failure is logged. `name` is a literal.
void spawn_in_background(Executor executor, const char* name, Task<Result<void>> task);

}  // namespace tidemark::process
