#include "common/process/failures.h"

#include "common/base/log.h"
#include "common/process/line_limit.h"

namespace tidemark::process {
namespace {

constexpr int kLinesPerSecond = 20;

/// Tells whether the server failed. Asking for a feature that is not offered is the client's choice.
bool is_ours(const Error& error) {
  return http_status_of(error.code) >= 500 && error.code != ErrorCode::kNotImplemented;
}

std::string told_left_out(std::uint64_t count) { return count > 0 ? " left_out=" + std::to_string(count) : ""; }

void log_failure(const std::string& what, const Error& error) {
  static LineLimit limit(kLinesPerSecond);
  const auto left_out = limit.admit();
  if (!left_out) return;
  log_error("{} code={} detail=\"{}\"{}", what, azure_name_of(error.code),
            error.detail.empty() ? error.message : error.detail, told_left_out(*left_out));
}

Task<void> run_logged(const char* name, Task<Result<void>> task) {
  if (const auto done = co_await std::move(task); !done) log_failed_task(name, done.error());
}

}  // namespace

void log_failed_request(std::string_view request_id, std::string_view operation, const Error& error,
                        const TraceContext& trace) {
  if (!is_ours(error)) return;
  log_failure(
      fmt::format("request failed request_id={} operation=\"{}\"{}", request_id, operation, trace_for_log(trace)),
      error);
}

void log_failed_call(std::string_view method, const Error& error, const TraceContext& trace) {
  if (!is_ours(error)) return;
  log_failure(fmt::format("internal call failed method={}{}", method, trace_for_log(trace)), error);
}

void log_refused_key(const std::string& public_key, const std::string& address) {
  static LineLimit limit(kLinesPerSecond);
  const auto left_out = limit.admit();
  if (!left_out) return;
  log_warning("refused a link of another machine, whose key is not allowed key={} address={}{}", public_key, address,
              told_left_out(*left_out));
}

void log_failed_task(std::string_view task, const Error& error) {
  log_failure(fmt::format("background task failed task={}", task), error);
}

void spawn_in_background(Executor executor, const char* name, Task<Result<void>> task) {
  spawn(std::move(executor), run_logged(name, std::move(task)));
}

}  // namespace tidemark::process
