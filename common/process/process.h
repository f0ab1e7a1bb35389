// The parts that every process of the stack needs around its work: logging, the pid file, signals, the exit code.
#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include "common/base/descriptor.h"
#include "common/process/config.h"

namespace tidemark::process {

struct LogOptions {
  std::string level = "info";   // trace debug info warn error off
  std::string format = "text";  // or json
};
/// Declares the settings log_level and log_format.
void declare(Settings& settings, LogOptions& options);
/// Logs to stderr. Messages consist of key=value.
void start_logging(const std::string& process_name, const LogOptions& options);

/// DATA/run/NAME.pid makes sure that only one process has this name on this data directory, and contains its process
/// id. The file is locked while the process lives, so a file that a killed process left behind is taken over. The
/// destructor removes the file.
class [[nodiscard]] PidFile {
 public:
  /// A name has letters, digits and ._- only. kConfigInvalid if it is not valid or another process still has it after a
  /// second.
  static Result<PidFile> create(const std::filesystem::path& data, const std::string& name);
  PidFile(PidFile&&) = default;
  ~PidFile();

 private:
  PidFile(std::filesystem::path path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  std::filesystem::path path_;
  Descriptor file_;
};

/// Raises the limit on open files as far as the system allows. Returns the part of `connections` for which there is
/// room beside the databases, and logs a warning if that is not all.
std::size_t make_room_for_connections(std::size_t connections);

/// Creates the directory (0700) and checks that it can be written; the error names the directory and the remedy.
Result<void> prepare_directory(const std::filesystem::path& directory);

/// Call first in main: SIGTERM, SIGINT and SIGHUP are blocked in all threads from here on.
void block_signals();
/// Prints "ready " and `line` ("NAME key=value ...") on stdout, where the program that started the process waits for
/// it.
void announce_ready(const std::string& line);
/// For a process that runs, but is not ready until others are: systemd starts the units that come after it, and shows
/// the reason for the wait.
void announce_waiting(const std::string& what);
enum class Waited : std::uint8_t { kSignal, kInterrupted };
/// Returns at SIGTERM or SIGINT, or when it is interrupted. After the first of these signals, a second one ends the
/// process at once. Calls `reload` at each SIGHUP.
Waited wait_for_shutdown(const std::function<void()>& reload = {});
/// May be called from any thread.
void interrupt_wait();
/// Replaces this process by the same program with the same arguments, under the same process id, without closing
/// anything: the new process finds everything that is durable. It inherits the descriptor `listener`: see
/// listener_before().
[[noreturn]] void start_again(int listener);
/// While this object lives, a failed assertion of a library ends the process as a failure to start, not by a signal.
class AssertionsEndTheStart {
 public:
  AssertionsEndTheStart();
  ~AssertionsEndTheStart();
  AssertionsEndTheStart(const AssertionsEndTheStart&) = delete;
  AssertionsEndTheStart& operator=(const AssertionsEndTheStart&) = delete;
};
/// Ends the process as a success, without closing anything.
[[noreturn]] void leave();
/// Returns the listening socket of the process that this one replaced. Clients that connected meanwhile wait there.
std::optional<int> listener_before();

/// Prints "error: message" on stderr, and returns the exit code (2 for configuration, 1 otherwise).
int report_startup_failure(const Error& error);

/// Does the rest of main() once the settings are declared: reads them, starts the log and calls `run`. Returns the exit
/// code.
int run_program(const std::string& process_name, Settings& settings, const LogOptions& log, int argc,
                const char* const* argv, const std::function<Result<void>()>& run);

}  // namespace tidemark::process
