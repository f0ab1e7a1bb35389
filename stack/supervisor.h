// Watches the processes of a stack: brings back what dies, shows one log of all, passes on SIGHUP, and ends everything
// in order at SIGTERM or SIGINT: workers and api first, so that nothing calls a store that is gone. One thread, which
// runs until then.
#pragma once
#include <fstream>
#include <iosfwd>
#include <map>

#include "stack/processes.h"
#include "stack/revival.h"

namespace tidemark::stack {

/// Prints the lines of several processes, each behind the name of its process.
class CommonLog {
 public:
  /// `out` must outlive it.
  CommonLog(std::ostream& out, bool in_colour) : out_(out), in_colour_(in_colour) {}
  void line(const std::string& name, const std::string& text);

 private:
  std::ostream& out_;
  bool in_colour_;
};

class Supervisor {
 public:
  /// Watches processes that run already. References must outlive it. Call block_signals() before.
  Supervisor(const DataFolder& folder, const Options& options, CommonLog& log, Duration drain);
  void watch(Process process, Running running);
  /// Returns the exit code: 0 after a signal, 1 if a process has ended too often.
  int run();

 private:
  struct Watched {
    Process process;
    std::optional<Running> running;                 // nothing: it is to be started again
    std::chrono::steady_clock::time_point since{};  // its start, or the time of the next one
    Revival revival;
    bool announced = true;
    std::uintmax_t shown = 0;  // how much of its log was printed
  };
  /// Returns false if the supervisor has to give up.
  bool note_end(Watched& watched);
  bool revive(Watched& watched);
  bool try_later(Watched& watched, Duration ran, const std::string& how);
  /// Prints the lines that were logged since the last time, by time.
  void show_logs();
  std::vector<std::string> new_lines(Watched& watched) const;
  /// Passes on SIGHUP; returns true after SIGTERM or SIGINT.
  bool take_signals();
  int stop(int code);
  void say(const std::string& text) { log_.line(std::string(kSupervisor), text); }

  const DataFolder& folder_;
  const Options& options_;
  CommonLog& log_;
  Duration drain_;
  Descriptor signals_;
  std::vector<Watched> watched_;
};

}  // namespace tidemark::stack
