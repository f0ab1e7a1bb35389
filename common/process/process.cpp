#include "common/process/process.h"

#include <fcntl.h>
#include <pthread.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "common/base/log.h"
#include "common/base/numbers.h"
#include "common/process/allocator.h"

namespace tidemark::process {
namespace {

namespace fs = std::filesystem;

// A line break or escape sequence in a message, perhaps from a client, must not forge a line of the log.
std::string one_line(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F) {
      out.push_back(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    }
  }
  return out;
}

/// The message, escaped for the format of the log.
class EscapedMessage final : public spdlog::custom_flag_formatter {
 public:
  explicit EscapedMessage(bool json) : json_(json) {}
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    std::string_view text(message.payload.data(), message.payload.size());
    const auto escaped =
        json_ ? nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) : one_line(text);
    out.append(escaped.data(), escaped.data() + escaped.size());
  }
  std::unique_ptr<spdlog::custom_flag_formatter> clone() const override {
    return std::make_unique<EscapedMessage>(json_);
  }

 private:
  bool json_;
};

std::string why() { return std::strerror(errno); }

sigset_t awaited_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGHUP);   // reload
  sigaddset(&set, SIGUSR1);  // interrupt_wait()
  return set;
}

// std::filesystem would create with the mode of the umask, and so leave a moment in which others can look in.
bool make_directories(const fs::path& directory) {
  fs::path so_far;
  for (const auto& part : directory) {
    so_far /= part;
    struct stat found{};
    if (::stat(so_far.c_str(), &found) == 0) continue;
    if (::mkdir(so_far.c_str(), 0700) != 0 && errno != EEXIST) return false;
  }
  return true;
}

constexpr std::size_t kMaxNameBytes = 63;

bool is_process_name(std::string_view name) {
  constexpr std::string_view kOthers = "._-";
  return !name.empty() && name.size() <= kMaxNameBytes && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || kOthers.find(c) != std::string_view::npos;
         });
}

/// Sends one datagram to the socket that systemd named, as in sd_notify(3). Does nothing if no process listens there.
void tell_systemd(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path == nullptr || std::strlen(path) >= sizeof(address.sun_path)) return;
  std::strcpy(address.sun_path, path);
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // an abstract name of Linux, without a file
  const Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + std::strlen(path));
  if (socket)
    ::sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<sockaddr*>(&address), size);
}

bool is_file_of(int file, const fs::path& path) {
  struct stat opened{}, named{};
  return ::fstat(file, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

/// Locks the file within a second. A killed process holds its locks until the kernel has released its memory; thanks to
/// the patience here, starting its successor need not wait for that.
bool lock_soon(int file) {
  constexpr auto kPatience = std::chrono::seconds(1);
  constexpr auto kPause = std::chrono::milliseconds(10);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

}  // namespace

void declare(Settings& settings, LogOptions& options) {
  settings.add_choice("log_level", options.level, {"trace", "debug", "info", "warn", "error", "off"},
                      "lowest level that is logged");
  settings.add_choice("log_format", options.format, {"text", "json"}, "format of a log line");
}

void start_logging(const std::string& process_name, const LogOptions& options) {
  bool json = options.format == "json";
  auto pattern = json ? std::string(R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","process":"%n","message":%*})")
                      : std::string("%Y-%m-%dT%H:%M:%S.%eZ %l %n %*");
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<EscapedMessage>('*', json).set_pattern(pattern);
  auto logger = std::make_shared<spdlog::logger>(process_name, std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_formatter(std::move(formatter));
  logger->set_level(spdlog::level::from_str(options.level));
  spdlog::set_default_logger(std::move(logger));
}

Result<PidFile> PidFile::create(const std::filesystem::path& data, const std::string& name) {
  if (!is_process_name(name)) {
    return fail(
        ErrorCode::kConfigInvalid,
        "The name '" + name + "' is not possible: 1 to 63 letters, digits and . _ -, not a . at its beginning.");
  }
  const auto run = data / "run";
  TRY(prepare_directory(run));
  const auto path = run / (name + ".pid");
  // The process that had the lock may remove the file between the two steps. In that case, try once more with a new
  // file.
  for (;;) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) {
      return fail(ErrorCode::kConfigInvalid, "The pid file " + path.string() + " cannot be written: " + why() + ".");
    }
    PidFile mine(path, Descriptor(file));
    if (!lock_soon(file)) {
      std::ifstream in(path);
      std::string other;
      in >> other;
      mine.path_.clear();
      return fail(ErrorCode::kConfigInvalid, "Another process runs as " + name + " on the data directory " +
                                                 data.string() + ": process " + other +
                                                 ". Stop it, or configure another directory or name.");
    }
    if (!is_file_of(file, path)) {
      mine.path_.clear();
      continue;
    }
    const auto pid = std::to_string(::getpid()) + "\n";
    if (::ftruncate(file, 0) != 0 || ::write(file, pid.data(), pid.size()) != static_cast<ssize_t>(pid.size())) {
      return fail(ErrorCode::kStorageFailure, "The pid file " + path.string() + " cannot be written: " + why() + ".");
    }
    return mine;
  }
}

PidFile::~PidFile() {
  // Removes the file while it is still locked, unless a person removed it and another process has a new one.
  if (!path_.empty() && is_file_of(file_.get(), path_)) ::unlink(path_.c_str());
}

std::size_t make_room_for_connections(std::size_t connections) {
  constexpr std::size_t kOthers = 512;  // files of the database, sockets between the processes
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return connections;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= connections + kOthers) return connections;
  const auto room = limit.rlim_cur > 2 * kOthers ? limit.rlim_cur - kOthers : limit.rlim_cur / 2;
  log_warning("only {} open files are allowed (ulimit -Hn): max_connections is {} instead of {}", limit.rlim_cur, room,
              connections);
  return room;
}

Result<void> prepare_directory(const std::filesystem::path& directory) {
  auto shown = directory.string();
  if (directory.empty()) return fail(ErrorCode::kConfigInvalid, "The name of a directory is empty.");
  if (!make_directories(directory)) {
    return fail(ErrorCode::kConfigInvalid,
                "The directory " + shown + " cannot be created: " + why() + ". Create it, or name another one.");
  }
  // Trying is the only true test: access() does not see quotas, and always succeeds for root.
  auto probe = (directory / ".write-probe-XXXXXX").string();
  const Descriptor file(::mkostemp(probe.data(), O_CLOEXEC));
  if (!file) {
    return fail(ErrorCode::kConfigInvalid, "The directory " + shown + " cannot be written: " + why() +
                                               ". Give this user the right to write to it, or name another one.");
  }
  ::unlink(probe.c_str());
  return {};
}

void block_signals() {
  auto set = awaited_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  // A peer that went away is an error of the write, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  // Under nohup, SIGHUP would be ignored.
  std::signal(SIGHUP, SIG_DFL);
}

void announce_ready(const std::string& line) {
  std::fprintf(stdout, "ready %s\n", line.c_str());
  std::fflush(stdout);
  tell_systemd("READY=1\nSTATUS=ready");
}

void announce_waiting(const std::string& what) { tell_systemd("READY=1\nSTATUS=" + what); }

namespace {
std::atomic<bool> interrupted = false;
}  // namespace

void interrupt_wait() {
  interrupted = true;
  ::kill(::getpid(), SIGUSR1);
}

Waited wait_for_shutdown(const std::function<void()>& reload) {
  auto set = awaited_signals();
  int received = 0;
  do {
    while (::sigwait(&set, &received) != 0) {
    }
    if (received == SIGUSR1 && interrupted.exchange(false)) return Waited::kInterrupted;
    if (received == SIGHUP) log_info("{} signal=SIGHUP", reload ? "reloading files" : "nothing to reload");
    if (received == SIGHUP && reload) reload();
  } while (received == SIGUSR1 || received == SIGHUP);
  log_info("shutting down signal={}", received == SIGINT ? "SIGINT" : "SIGTERM");
  // From here on, the default action applies: a second signal ends the process even if draining hangs. The others stay
  // blocked.
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGINT, SIG_DFL);
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  ::pthread_sigmask(SIG_UNBLOCK, &ending, nullptr);
  return Waited::kSignal;
}

namespace {
constexpr const char* kListenerVariable = "TIDEMARK_LISTENER";
std::vector<char*> command_line;
}  // namespace

void start_again(int listener) {
  ::setenv(kListenerVariable, std::to_string(listener).c_str(), 1);
  spdlog::default_logger()->flush();
  // Connections that are still open end here, so that no client waits for an answer from the new process.
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  ::fcntl(listener, F_SETFD, 0);
  ::execv("/proc/self/exe", command_line.data());
  std::fprintf(stderr, "error: the program cannot be started again: %s\n", why().c_str());
  ::_exit(1);
}

AssertionsEndTheStart::AssertionsEndTheStart() {
  std::signal(SIGABRT, [](int) { ::_exit(1); });
}
AssertionsEndTheStart::~AssertionsEndTheStart() { std::signal(SIGABRT, SIG_DFL); }

void leave() {
  spdlog::default_logger()->flush();
  ::_exit(0);
}

std::optional<int> listener_before() {
  const char* text = std::getenv(kListenerVariable);
  const auto listener = text == nullptr ? std::nullopt : parse_number<int>(text, 3, std::numeric_limits<int>::max());
  if (listener) ::fcntl(*listener, F_SETFD, FD_CLOEXEC);
  return listener;
}

int report_startup_failure(const Error& error) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  if (!error.detail.empty()) std::fprintf(stderr, "  %s\n", error.detail.c_str());
  return error.code == ErrorCode::kConfigInvalid ? 2 : 1;
}

int run_program(const std::string& process_name, Settings& settings, const LogOptions& log, int argc,
                const char* const* argv, const std::function<Result<void>()>& run) {
  keep_free_memory_for_a_moment();
  block_signals();
  for (int i = 0; i < argc; ++i) command_line.push_back(const_cast<char*>(argv[i]));
  command_line.push_back(nullptr);
  const auto parsed = settings.parse(argc, argv);
  if (!parsed) return report_startup_failure(parsed.error());
  if (*parsed == Settings::Outcome::kExitSuccess) return 0;
  start_logging(process_name, log);
  log_info("starting {}", settings.describe());
  for (const auto& told : misspelt_variables()) log_warning("{}", told);
  if (const auto ran = run(); !ran) return report_startup_failure(ran.error());
  log_info("stopped");
  return 0;
}

}  // namespace tidemark::process
