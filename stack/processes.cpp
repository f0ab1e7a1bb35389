#include "stack/processes.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

namespace tidemark::stack {
namespace {

namespace fs = std::filesystem;
using Steady = std::chrono::steady_clock;

constexpr unsigned kUsualWorkers = 2;
constexpr Duration kLook = std::chrono::milliseconds(10);
constexpr Duration kLong = std::chrono::seconds(2);

std::unexpected<Error> failed(const std::string& what) {
  return fail(ErrorCode::kStorageFailure, what + ": " + std::strerror(errno) + ".");
}

Descriptor handle_of(pid_t pid) { return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

/// Runs in the child.
[[noreturn]] void become(const std::vector<char*>& line, int out, int log) {
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::setsid();
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  ::execv(line.front(), line.data());
  constexpr std::string_view kWhy = "error: the program cannot be started\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kWhy.data(), kWhy.size());
  ::_exit(127);
}

std::string end_of_log(const DataFolder& folder, const std::string& name, std::uintmax_t from) {
  std::string out;
  for (const auto& line : folder.end_of_log(name, from)) out += "\n" + line;
  return out;
}

Result<void> await_ready(const DataFolder& folder, const std::string& name, const Running& process,
                         const std::function<void(const std::string&)>& waiting) {
  const auto begun = Steady::now();
  bool told = false;
  while (!folder.ready(name)) {
    if (is_told_to_stop()) return fail(ErrorCode::kCancelled, "The start was interrupted.");
    const auto waited = Steady::now() - begun;
    if (waited >= kLong && !std::exchange(told, true)) waiting(name);
    if (process.ended() || waited >= kStartPatience) {
      return fail(ErrorCode::kServerBusy, name + " did not start; the end of " + folder.log(name).string() + ":" +
                                              end_of_log(folder, name, process.logged));
    }
    await_any({process.handle.get()}, kLook);
  }
  return {};
}

}  // namespace

sigset_t blocked_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  return set;
}

void block_signals() {
  const auto set = blocked_signals();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

bool is_told_to_stop() {
  sigset_t waiting;
  return ::sigpending(&waiting) == 0 && (sigismember(&waiting, SIGTERM) == 1 || sigismember(&waiting, SIGINT) == 1);
}

Result<std::vector<Process>> processes_of(const Options& options, const Choices& choices) {
  std::vector<std::string> tls;
  if (!choices.certificate.empty()) {
    tls = {"--tls-certificate-file", choices.certificate, "--tls-key-file", choices.key};
  }
  std::vector<Process> out;
  for (std::size_t i = 0; i < kListening.size(); ++i) {
    const std::string name(kListening[i]);
    auto& process = out.emplace_back(name, name, std::vector<std::string>());
    if (choices.port_base) process.arguments = {"--port", std::to_string(*choices.port_base + i)};
    process.arguments.insert(process.arguments.end(), tls.begin(), tls.end());
  }
  for (unsigned i = 1; i <= options.workers.value_or(kUsualWorkers); ++i) {
    const auto name = "worker-" + std::to_string(i);
    out.push_back({name, "worker", {"--name", name}});
  }
  for (const auto& process : out) {
    const auto program = options.programs / process.program;
    if (::access(program.c_str(), X_OK) != 0) {
      return fail(ErrorCode::kNotFound, program.string() + " is missing; run scripts/build first");
    }
  }
  return out;
}

bool Running::ended() const {
  pollfd asked{.fd = handle.get(), .events = POLLIN, .revents = 0};
  return !handle || ::poll(&asked, 1, 0) > 0;
}

void send_signal(const Running& process, int signal) {
  ::syscall(SYS_pidfd_send_signal, process.handle.get(), signal, nullptr, 0);
}

Result<Running> start(const DataFolder& folder, const Options& options, const Process& process) {
  // The output is emptied here, or the ready line of the predecessor might be taken for that of this process.
  const Descriptor out(::open(folder.output(process.name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const Descriptor log(::open(folder.log(process.name).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!out || !log) return failed("The files of " + process.name + " in " + folder.log("").parent_path().string());
  Running running;
  running.logged = fs::file_size(folder.log(process.name));
  std::vector<std::string> words{(options.programs / process.program).string(), "--data", folder.path().string()};
  words.insert(words.end(), process.arguments.begin(), process.arguments.end());
  std::vector<char*> line;
  for (auto& word : words) line.push_back(word.data());
  line.push_back(nullptr);
  running.pid = ::fork();
  if (running.pid < 0) return failed("No process can be made for " + process.name);
  if (running.pid == 0) become(line, out.get(), log.get());
  running.handle = handle_of(running.pid);
  if (!running.handle) return failed("The process of " + process.name + " cannot be watched");
  return running;
}

std::optional<Running> find_running(const DataFolder& folder, std::string_view name) {
  const auto pid = folder.running(name);
  if (!pid) return std::nullopt;
  Running running;
  running.pid = *pid;
  running.handle = handle_of(*pid);
  std::error_code error;
  running.logged = fs::file_size(folder.log(name), error);
  if (!running.handle || folder.running(name) != pid) return std::nullopt;  // it has ended just now
  return running;
}

std::optional<std::string> reap(const Running& process) {
  siginfo_t info{};
  if (::waitid(P_PIDFD, static_cast<id_t>(process.handle.get()), &info, WEXITED | WNOHANG) != 0 || info.si_pid == 0) {
    return std::nullopt;
  }
  if (info.si_code == CLD_EXITED) return "exit code " + std::to_string(info.si_status);
  return "signal " + std::to_string(info.si_status) + " (" + ::strsignal(info.si_status) + ")";
}

Result<std::map<std::string, Running>> start_all(const DataFolder& folder, const Options& options,
                                                 const std::vector<Process>& processes,
                                                 const std::function<void(const std::string&)>& waiting) {
  TRY(folder.prepare());
  std::map<std::string, Running> all;
  std::vector<std::string> begun;
  std::optional<Error> trouble;
  for (const auto& process : processes) {
    auto running = find_running(folder, process.name);
    if (!running) {
      auto started = start(folder, options, process);
      if (!started) {
        trouble = std::move(started.error());
        break;
      }
      running = std::move(*started);
      begun.push_back(process.name);
    }
    all.emplace(process.name, std::move(*running));
  }
  for (const auto& name : begun) {
    if (trouble) break;
    if (auto ready = await_ready(folder, name, all.at(name), waiting); !ready) trouble = std::move(ready.error());
  }
  if (!trouble) return all;
  std::vector<const Running*> ending;
  for (const auto& name : begun) ending.push_back(&all.at(name));
  end_all(ending, kPatience);
  return fail(std::move(*trouble));
}

void end_all(const std::vector<const Running*>& processes, Duration patience, const std::function<void()>& waiting,
             const std::function<bool()>& hurry) {
  for (const auto* process : processes) send_signal(*process, SIGTERM);
  const auto begun = Steady::now();
  bool told = false, killed = false;
  for (;;) {
    std::vector<int> alive;
    for (const auto* process : processes) {
      if (!process->ended()) alive.push_back(process->handle.get());
    }
    if (alive.empty()) break;
    const auto waited = Steady::now() - begun;
    if (waited >= kLong && !std::exchange(told, true) && waiting) waiting();
    const bool at_once = hurry && hurry();
    if ((waited >= patience || at_once) && !std::exchange(killed, true)) {
      for (const auto* process : processes) send_signal(*process, SIGKILL);
    }
    await_any(alive, std::chrono::milliseconds(100));
  }
  for (const auto* process : processes) std::ignore = reap(*process);
}

void await_any(const std::vector<int>& handles, Duration patience) {
  std::vector<pollfd> asked;
  for (const int handle : handles) asked.push_back({.fd = handle, .events = POLLIN, .revents = 0});
  const auto limit = std::chrono::ceil<std::chrono::milliseconds>(std::max(patience, Duration::zero()));
  ::poll(asked.data(), asked.size(), static_cast<int>(limit.count()));
}

}  // namespace tidemark::stack
