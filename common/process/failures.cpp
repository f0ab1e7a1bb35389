#include "common/process/failures.h"

#include <spdlog/spdlog.h>

#include "common/base/mutex.h"

namespace tidemark::process {
namespace {

constexpr int kLinesPerSecond = 20;

class LineLimit {
 public:
  /// Nothing if this line is one too many; else how many were left out before it.
  std::optional<std::uint64_t> admit() {
    const auto now = std::chrono::steady_clock::now();
    MutexLock lock(mutex_);
    if (now - begun_ >= std::chrono::seconds(1)) {
      begun_ = now;
      written_ = 0;
    }
    if (written_ == kLinesPerSecond) {
      ++left_out_;
      return std::nullopt;
    }
    ++written_;
    return std::exchange(left_out_, 0);
  }

 private:
  Mutex mutex_;
  std::chrono::steady_clock::time_point begun_ GUARDED_BY(mutex_);
  int written_ GUARDED_BY(mutex_) = 0;
  std::uint64_t left_out_ GUARDED_BY(mutex_) = 0;
};

/// What is not offered is the client's choice, not the server's failure.
bool is_ours(const Error& error) {
  return http_status_of(error.code) >= 500 && error.code != ErrorCode::kNotImplemented;
}

void log_failure(const std::string& what, const Error& error) {
  static LineLimit limit;
  const auto left_out = limit.admit();
  if (!left_out) return;
  spdlog::error("{} code={} detail=\"{}\"{}", what, azure_name_of(error.code),
                error.detail.empty() ? error.message : error.detail,
                *left_out > 0 ? " left_out=" + std::to_string(*left_out) : "");
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

void log_failed_call(std::string_view method, const Error& error) {
  if (is_ours(error)) log_failure(fmt::format("internal call failed method={}", method), error);
}

void log_failed_task(std::string_view task, const Error& error) {
  log_failure(fmt::format("background task failed task={}", task), error);
}

void spawn_in_background(Executor executor, const char* name, Task<Result<void>> task) {
  spawn(std::move(executor), run_logged(name, std::move(task)));
}

}  // namespace tidemark::process
