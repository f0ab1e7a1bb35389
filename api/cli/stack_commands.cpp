// The stack on this machine: starts it, ends it, and tells how it is and how to reach it.
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <csignal>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "api/cli/commands.h"
#include "common/process/process.h"
#include "stack/addresses.h"
#include "stack/supervisor.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;
using stack::Choices;
using stack::DataFolder;
namespace fs = std::filesystem;

struct UpOptions {
  stack::Options stack;
  bool detach = false, no_restart = false;
  std::int64_t stop_within_s = 30;
};

void warn(const std::string& text) { std::cerr << "warning: " << text << "\n"; }

/// Returns the directory of this program, where the others are, unless TIDEMARK_BIN names another one.
fs::path directory_of_programs() {
  const char* other = std::getenv("TIDEMARK_BIN");
  if (other != nullptr && *other != '\0') return other;
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

/// Returns the choices of the last start, unless others are made now. TIDEMARK_CONFIG may be set to an empty text, to
/// use no file.
Choices choices_of(const DataFolder& folder, const stack::Options& options) {
  auto out = folder.choices();
  if (options.port_base) out.port_base = options.port_base;
  if (!options.certificate.empty()) {
    out.certificate = fs::absolute(options.certificate).lexically_normal();
    out.key = fs::absolute(options.key).lexically_normal();
  }
  if (const char* config = std::getenv("TIDEMARK_CONFIG")) {
    out.config = *config == '\0' ? "" : fs::weakly_canonical(config).string();
  }
  ::setenv("TIDEMARK_CONFIG", out.config.c_str(), 1);
  return out;
}

/// A running process keeps its ports, and there may be more workers than were requested.
void tell_of_what_stays(const DataFolder& folder, const stack::Options& options) {
  for (std::size_t i = 0; options.port_base && i < stack::kListening.size(); ++i) {
    const auto ready = folder.ready(stack::kListening[i]);
    if (ready && ready->port == std::to_string(*options.port_base + i)) continue;
    warn("it runs already, with its own ports; down first to change them");
    break;
  }
  if (options.workers && folder.running("worker-" + std::to_string(*options.workers + 1))) {
    warn("more workers run already; down first to have fewer");
  }
}

void tell_of_jobs(const stack::Addresses& addresses) {
  if (!addresses.jobs_elsewhere) return;
  warn("jobs run on the data of devstoreaccount1, which is not among the accounts: set TIDEMARK_ACCOUNT=" +
       addresses.account);
}

void print_addresses(const stack::Addresses& addresses, bool with_settings) {
  std::cout << stack::listed(addresses);
  if (!with_settings) return;
  const auto hint =
      addresses.key.empty() ? "; put the key of the account " + addresses.account + " in place of KEY" : "";
  std::cout << "\nFor this shell" << hint << ":\n" << stack::for_bash(addresses);
}

using Started = std::vector<std::pair<stack::Process, stack::Running>>;

/// Returns the exit code.
Result<int> supervise(const DataFolder& folder, const UpOptions& options, Started started, bool in_colour) {
  const auto mine = TRY(process::PidFile::create(folder.path(), std::string(stack::kSupervisor)));
  stack::CommonLog log(std::cout, in_colour);
  stack::Supervisor supervisor(folder, options.stack, log, std::chrono::seconds(options.stop_within_s));
  for (auto& [process, running] : started) supervisor.watch(std::move(process), std::move(running));
  return supervisor.run();
}

/// Goes on in the background as the supervisor; returns at once.
Result<int> supervise_behind(const DataFolder& folder, const UpOptions& options, Started started) {
  std::cout.flush();
  const auto child = ::fork();
  if (child < 0) return fail(ErrorCode::kStorageFailure, "No process can be made for the supervisor.");
  if (child > 0) return kOk;
  ::setsid();
  const int null = ::open("/dev/null", O_RDONLY);
  const int log = ::open(folder.log(stack::kSupervisor).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(null, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  const auto code = supervise(folder, options, std::move(started), false);
  if (!code) std::cerr << code.error().message << "\n";
  std::cout.flush();
  ::_exit(code ? *code : kFailed);
}

Result<void> await_supervised(const DataFolder& folder, const std::vector<stack::Process>& processes) {
  const auto deadline = std::chrono::steady_clock::now() + stack::kStartPatience;
  for (const auto& process : processes) {
    while (!folder.running(process.name) || !folder.ready(process.name)) {
      if (stack::is_told_to_stop()) return fail(ErrorCode::kCancelled, "The wait was interrupted.");
      if (std::chrono::steady_clock::now() >= deadline) {
        return fail(ErrorCode::kServerBusy,
                    process.name + " is not ready; see " + folder.log(stack::kSupervisor).string() + ".");
      }
      stack::await_any({}, std::chrono::milliseconds(20));
    }
  }
  return {};
}

Result<int> up(const GlobalOptions& global, UpOptions options) {
  if (options.no_restart && !options.detach) {
    return fail(ErrorCode::kConfigInvalid, "--no-restart is for --detach: in the foreground, processes are watched.");
  }
  stack::take_over_azurite_accounts();
  options.stack.programs = directory_of_programs();
  const auto folder = TRY(DataFolder::open(global.data));
  const auto choices = choices_of(folder, options.stack);
  auto processes = TRY(stack::processes_of(options.stack, choices));
  const auto supervisor = folder.running(stack::kSupervisor);
  if (supervisor && !options.detach) {
    return fail(ErrorCode::kConfigInvalid, "The stack of " + folder.path().string() + " runs already, under process " +
                                               std::to_string(*supervisor) + ": tidemark down ends it.");
  }
  stack::block_signals();
  Started started;
  if (supervisor) {
    TRY(await_supervised(folder, processes));
  } else {
    auto running = TRY(stack::start_all(folder, options.stack, processes, [](const std::string& name) {
      warn(name + " is not ready yet; waiting for it");
    }));
    if (const auto noted = folder.remember(choices); !noted) warn(noted.error().message);
    for (auto& process : processes) {
      auto found = running.extract(process.name);
      started.emplace_back(std::move(process), std::move(found.mapped()));
    }
  }
  const auto addresses = stack::addresses_of(folder, choices);
  tell_of_what_stays(folder, options.stack);
  tell_of_jobs(addresses);
  print_addresses(addresses, options.detach);
  if (supervisor || options.no_restart) return kOk;
  if (options.detach) return supervise_behind(folder, options, std::move(started));
  std::cout << "\nThe stack is ready. Ctrl-C ends it; tidemark env prints the settings for shells and SDKs.\n"
            << std::flush;
  return supervise(folder, options, std::move(started), ::isatty(STDOUT_FILENO) == 1);
}

std::size_t count_running(const DataFolder& folder) {
  std::size_t count = 0;
  for (const auto& name : folder.noted()) count += folder.running(name) ? 1 : 0;
  return count;
}

void end_named(const DataFolder& folder, const std::function<bool(const std::string&)>& wanted) {
  std::vector<stack::Running> running;
  for (const auto& name : folder.noted()) {
    if (!wanted(name)) continue;
    if (auto found = stack::find_running(folder, name)) running.push_back(std::move(*found));
  }
  std::vector<const stack::Running*> all;
  for (const auto& each : running) all.push_back(&each);
  stack::end_all(all, stack::kPatience, [] { warn("waiting for jobs and requests in progress"); });
}

Result<int> down(const GlobalOptions& global) {
  const auto folder = TRY(DataFolder::open(global.data));
  const auto stopped = count_running(folder);
  if (const auto supervisor = stack::find_running(folder, stack::kSupervisor)) {
    // It ends the others, and has its own limit on how long that may take.
    stack::end_all({&*supervisor}, 3 * stack::kPatience, [] { warn("waiting for jobs and requests in progress"); });
  }
  // Workers and api first, so that nothing calls a store that is gone.
  end_named(folder, [](const std::string& name) { return name.starts_with("worker"); });
  end_named(folder, [](const std::string& name) { return name == stack::kApi; });
  end_named(folder, [](const std::string&) { return true; });
  folder.forget_processes();
  if (stopped == 0) {
    std::cout << "not running\n";
  } else {
    std::cout << "stopped " << stopped << (stopped == 1 ? " process\n" : " processes\n");
  }
  return kOk;
}

struct ProcessState {
  std::string name, state;  // "running", "dead": without having removed its pid file, "not running"
  std::optional<pid_t> pid;
  std::string ready;
};

/// If any process runs, the stores and the api belong to the stack; otherwise only those that have left a pid file.
std::vector<ProcessState> states_of(const DataFolder& folder) {
  auto names = folder.noted();
  const auto runs = [&](const auto& name) { return folder.running(name).has_value(); };
  if (std::ranges::any_of(names, runs) || runs(stack::kSupervisor)) {
    for (const auto name : stack::kListening) names.emplace_back(name);
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  std::vector<ProcessState> out;
  for (const auto& name : names) {
    const auto pid = folder.running(name);
    const auto ready = pid ? folder.ready(name) : std::nullopt;
    const bool left_a_file = fs::exists(folder.pid_file(name));
    // A worker that ends in order removes its pid file, and does not belong to the stack any more.
    if (!pid && !left_a_file && name.starts_with("worker")) continue;
    out.push_back({name, pid ? "running" : left_a_file ? "dead" : "not running", pid, ready ? ready->line : ""});
  }
  return out;
}

void print_disk(const DataFolder& folder) {
  struct statvfs disk{};
  if (::statvfs(folder.path().c_str(), &disk) != 0) return;
  std::cout << "disk " << readable_bytes(static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize) << " free of "
            << readable_bytes(static_cast<std::uint64_t>(disk.f_blocks) * disk.f_frsize) << " for "
            << folder.path().string() << "\n";
}

void print_states(const std::vector<ProcessState>& states) {
  for (const auto& each : states) {
    std::cout << each.name << " " << each.state;
    if (each.pid) std::cout << " pid=" << *each.pid << each.ready;
    std::cout << "\n";
  }
}

json states_json(const DataFolder& folder, const std::vector<ProcessState>& states) {
  json out{{"data", folder.path().string()}, {"processes", json::array()}};
  for (const auto& each : states) {
    json shown{{"name", each.name}, {"state", each.state}};
    if (each.pid) shown["pid"] = *each.pid;
    if (const auto ready = folder.ready(each.name); each.pid && ready && !ready->port.empty()) {
      shown["url"] = ready->scheme + "://127.0.0.1:" + ready->port;
    }
    out["processes"].push_back(std::move(shown));
  }
  if (const auto supervisor = folder.running(stack::kSupervisor)) out["supervisor"] = *supervisor;
  return out;
}

/// Returns 0 if the stores, the api and all workers that were started are running.
Result<int> status(const GlobalOptions& global, bool brief) {
  const auto folder = TRY(DataFolder::open(global.data));
  const auto states = states_of(folder);
  const bool all_run = std::ranges::all_of(states, [](const auto& each) { return each.pid.has_value(); });
  const int code = !states.empty() && all_run ? kOk : kFailed;
  if (global.json) {
    std::cout << states_json(folder, states) << "\n";
    return code;
  }
  if (states.empty()) std::cout << "not running\n";
  print_states(states);
  if (brief || states.empty()) return code;
  const auto supervisor = folder.running(stack::kSupervisor);
  std::cout << "supervisor "
            << (supervisor ? "running pid=" + std::to_string(*supervisor) : "not running: what dies stays dead")
            << "\n";
  print_disk(folder);
  for (const auto& each : states) {
    if (each.pid) continue;
    std::cout << "\nThe end of " << folder.log(each.name).string() << ":\n";
    for (const auto& line : folder.end_of_log(each.name)) std::cout << "  " << line << "\n";
  }
  return code;
}

Result<int> print_environment(const GlobalOptions& global, const std::string& shell) {
  const auto folder = TRY(DataFolder::open(global.data));
  if (!folder.running(stack::kStores[0])) {
    return fail(ErrorCode::kServerBusy,
                "The stack of " + folder.path().string() + " does not run: tidemark up starts it.");
  }
  const auto addresses = stack::addresses_of(folder, folder.choices());
  std::cout << (global.json             ? stack::as_json(addresses)
                : shell == "powershell" ? stack::for_powershell(addresses)
                                        : stack::for_bash(addresses));
  return kOk;
}

void declare(CLI::App& app, UpOptions& options) {
  constexpr int kGreatestBase = 65532;
  app.add_option("--port-base", options.stack.port_base,
                 "port of the blob store; queue, table and api have the next three")
      ->check(CLI::Range(1, kGreatestBase));
  app.add_option("--workers", options.stack.workers, "how many workers; two if nothing is said")
      ->check(CLI::Range(0, 999));
  auto* certificate =
      app.add_option("--tls-cert", options.stack.certificate, "certificate (PEM): all ports speak HTTPS")
          ->envname("TIDEMARK_TLS_CERTIFICATE_FILE");
  auto* key = app.add_option("--tls-key", options.stack.key, "its key (PEM)")->envname("TIDEMARK_TLS_KEY_FILE");
  certificate->needs(key);
  key->needs(certificate);
  app.add_flag("--detach", options.detach, "return when the stack is ready; it goes on in the background");
  app.add_flag("--no-restart", options.no_restart, "with --detach: a process that dies stays dead");
  app.add_option("--stop-within", options.stop_within_s, "how many seconds the end may take; then processes are killed")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
}

}  // namespace

void add_stack_commands(const Commands& program) {
  auto options = std::make_shared<UpOptions>();
  declare(program.add("up", "start the stack on this machine, and bring back what dies",
                      [options](const GlobalOptions& global) { return up(global, *options); }),
          *options);
  program.add("down", "end the stack on this machine", down);
  auto brief = std::make_shared<bool>(false);
  program
      .add("status", "the processes of the stack on this machine",
           [brief](const GlobalOptions& global) { return status(global, *brief); })
      .add_flag("--brief", *brief, "a line for each process and no more");
  auto shell = std::make_shared<std::string>("bash");
  program
      .add("env", "settings with which shells and SDKs find the stack",
           [shell](const GlobalOptions& global) { return print_environment(global, *shell); })
      .add_option("--shell", *shell, "bash or powershell")
      ->check(CLI::IsMember({"bash", "powershell"}))
      ->capture_default_str();
}

}  // namespace tidemark::cli
