#include "tests/support/temporary_postgres.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tidemark::testing {
namespace {

namespace fs = std::filesystem;

/// Debian keeps each version in a folder of its own.
std::string newest_programs() {
  std::vector<std::string> found;
  std::error_code ec;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", ec)) {
    if (fs::exists(version.path() / "bin/initdb", ec)) found.push_back((version.path() / "bin").string());
  }
  return found.empty() ? std::string() : *std::max_element(found.begin(), found.end());
}

/// Runs a program as a user other than root, with its output in a file; the process ends with this one.
pid_t spawn(const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> arguments;
  for (const auto& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const auto* const nobody = ::getuid() == 0 ? ::getpwnam("nobody") : nullptr;
  const pid_t child = ::fork();
  if (child != 0) return child;
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  ::dup2(out, 1);
  ::dup2(out, 2);
  if (nobody != nullptr &&
      (::setgroups(0, nullptr) != 0 || ::setgid(nobody->pw_gid) != 0 || ::setuid(nobody->pw_uid) != 0)) {
    ::_exit(126);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

bool run(const std::vector<std::string>& command, const std::string& log) {
  int status = 0;
  const pid_t child = spawn(command, log);
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TemporaryPostgres* TemporaryPostgres::shared() {
  static const std::unique_ptr<TemporaryPostgres> server = [] {
    std::unique_ptr<TemporaryPostgres> started;
    const auto programs = newest_programs();
    if (programs.empty()) return started;
    auto directory = (fs::temp_directory_path() / "tidemark-pg-XXXXXX").string();
    if (::mkdtemp(directory.data()) == nullptr) throw std::runtime_error("cannot make a temporary directory");
    started.reset(new TemporaryPostgres(programs, directory));
    started->start();
    return started;
  }();
  return server.get();
}

TemporaryPostgres::TemporaryPostgres(std::string programs, std::string directory)
    : programs_(std::move(programs)), directory_(std::move(directory)) {}

TemporaryPostgres::~TemporaryPostgres() {
  if (server_ > 0) {
    ::kill(server_, SIGINT);
    ::waitpid(server_, nullptr, 0);
  }
  std::error_code ec;
  fs::remove_all(directory_, ec);
}

void TemporaryPostgres::start() {
  const auto log = directory_ + "/log", data = directory_ + "/data";
  if (const auto* nobody = ::getuid() == 0 ? ::getpwnam("nobody") : nullptr) {
    if (::chown(directory_.c_str(), nobody->pw_uid, nobody->pw_gid) != 0) throw std::runtime_error("cannot chown");
  }
  if (!run({programs_ + "/initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync", "--locale=C"}, log)) {
    throw std::runtime_error("initdb failed, see " + log);
  }
  server_ = spawn({programs_ + "/postgres", "-D", data, "-k", directory_, "-c", "listen_addresses=", "-c",
                   "shared_buffers=16MB", "-c", "max_connections=100"},
                  log);
  constexpr std::chrono::seconds kPatience{60};
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!run({programs_ + "/pg_isready", "-q", "-h", directory_}, "/dev/null")) {
    if (::waitpid(server_, nullptr, WNOHANG) == server_ || std::chrono::steady_clock::now() > until) {
      server_ = -1;
      throw std::runtime_error("PostgreSQL did not start, see " + log);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::string TemporaryPostgres::new_schema() { return "tidemark_test_" + std::to_string(++schemas_); }

}  // namespace tidemark::testing
