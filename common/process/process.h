// What every process of the stack does around its work: logging, the pid file, signals, the exit code.
#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include "common/process/config.h"

namespace tidemark::process {

struct LogOptions {
  std::string level = "info";   // trace debug info warn error off
  std::string format = "text";  // or json
};
/// The settings log_level and log_format.
void declare(Settings& settings, LogOptions& options);
/// Logs to stderr. key=value in messages.
void start_logging(const std::string& process_name, const LogOptions& options);

/// DATA/run/NAME.pid: tells who has this name on this data directory, and sees to it that nobody else has. It is locked
/// as long as the process lives, so what a killed process left behind is taken over; removed by the destructor.
class [[nodiscard]] PidFile {
 public:
  /// kConfigInvalid: another process has the name, or nobody can have it. Letters, digits and ._- (of a file's name).
  static Result<PidFile> create(const std::filesystem::path& data, const std::string& name);
  PidFile(PidFile&&) noexcept;
  PidFile& operator=(PidFile&&) noexcept;
  ~PidFile();

 private:
  PidFile(std::filesystem::path path, int file) : path_(std::move(path)), file_(file) {}
  std::filesystem::path path_;
  int file_ = -1;
};

/// Lets this process open as many files as the system allows it. How many of `connections` there is room for, besides
/// what the databases need; a warning if that is less.
std::size_t make_room_for_connections(std::size_t connections);

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

/// What main() does once the settings are declared: reads them, starts the log, calls `run`. Gives the exit code.
int run_program(const std::string& process_name, Settings& settings, const LogOptions& log, int argc,
                const char* const* argv, const std::function<Result<void>()>& run);

}  // namespace tidemark::process
