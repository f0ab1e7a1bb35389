// What every process of the stack does around its work: logging, the pid file, signals, the exit code.
#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include "common/base/error.h"

namespace tidemark::process {

struct LogOptions {
  std::string level = "info";   // trace debug info warn error off
  std::string format = "text";  // or json
};
/// Logs to stderr. key=value in messages.
void start_logging(const std::string& process_name, const LogOptions& options);

/// Writes DATA/run/NAME.pid, atomically; removed by the destructor.
class PidFile {
 public:
  static Result<PidFile> create(const std::filesystem::path& data, const std::string& name);
  PidFile(PidFile&&) noexcept;
  PidFile& operator=(PidFile&&) noexcept;
  ~PidFile();

 private:
  explicit PidFile(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

/// Creates the directory (0700) and checks that it can be written; the error says which directory and what to do.
Result<void> prepare_directory(const std::filesystem::path& directory);

/// Call first in main: SIGTERM and SIGINT are blocked in all threads from here on.
void block_signals();
/// Prints "ready " and `line` ("NAME key=value ...") on stdout, flushed: whoever started the process waits for it.
void announce_ready(const std::string& line);
/// Returns at SIGTERM or SIGINT. A second one ends the process at once.
void wait_for_shutdown();

/// "error: message" on stderr, and the exit code for it (2 for configuration, 1 otherwise).
int report_startup_failure(const Error& error);

}  // namespace tidemark::process
