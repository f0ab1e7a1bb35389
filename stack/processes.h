// Starting and ending the processes of a stack. They run in sessions of their own, so that a terminal's signals do not
// reach them, and write into files of the data directory, so that they live on without the process that started them.
// One thread.
#pragma once
#include <csignal>
#include <functional>
#include <map>

#include "common/base/descriptor.h"
#include "common/base/time.h"
#include "stack/data_folder.h"

namespace tidemark::stack {

struct Process {
  std::string name, program;
  std::vector<std::string> arguments;
};

struct Options {
  std::filesystem::path programs;  // the directory of the programs
  std::optional<std::uint16_t> port_base;
  std::optional<unsigned> workers;  // without it, two
  std::string certificate, key;
};

/// The longest wait for a process to end before it is killed.
inline constexpr Duration kPatience = std::chrono::seconds(30);
/// The longest wait for a process to become ready: a database that has much to replay takes its time.
inline constexpr Duration kStartPatience = std::chrono::minutes(15);

/// From here on, SIGTERM, SIGINT and SIGHUP wait: start_all() and the supervisor look for them.
void block_signals();
sigset_t blocked_signals();
/// Tells whether SIGTERM or SIGINT waits.
bool is_told_to_stop();

/// Returns the stores, the api and the workers. kNotFound if a program is missing.
Result<std::vector<Process>> processes_of(const Options& options, const Choices& choices);

/// A process that was started, or was found running.
struct Running {
  pid_t pid = 0;
  Descriptor handle;          // a pidfd, which can be read once the process has ended
  std::uintmax_t logged = 0;  // the size of its log when it was started
  [[nodiscard]] bool ended() const;
};
/// Does nothing if it has ended, even if another process has its number by now.
void send_signal(const Running& process, int signal);
/// kStorageFailure, kNotFound.
Result<Running> start(const DataFolder& folder, const Options& options, const Process& process);
/// Returns nothing if it does not run.
std::optional<Running> find_running(const DataFolder& folder, std::string_view name);
/// Collects a child that has ended. Returns "exit code 1", "signal 9 (Killed)"; nothing if it is not a child of this
/// process.
std::optional<std::string> reap(const Running& process);

/// Starts the processes that do not run and waits until all are ready. If one of them does not start, those that were
/// started here are ended, and the error has the end of its log. kCancelled after SIGTERM or SIGINT. `waiting`: called
/// with the name of a process that takes long.
Result<std::map<std::string, Running>> start_all(const DataFolder& folder, const Options& options,
                                                 const std::vector<Process>& processes,
                                                 const std::function<void(const std::string&)>& waiting);
/// Ends the processes, gently at first, and returns when they are gone. `waiting`: called once if it takes long.
/// `hurry`: asked again and again; they are killed once it returns true.
void end_all(const std::vector<const Running*>& processes, Duration patience, const std::function<void()>& waiting = {},
             const std::function<bool()>& hurry = {});

/// Waits until the processes with these pidfds or sockets have something to read, at most `patience`.
void await_any(const std::vector<int>& handles, Duration patience);

}  // namespace tidemark::stack
