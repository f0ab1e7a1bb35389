#include "api/cli/run_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "common/base/descriptor.h"

namespace tidemark::cli {
namespace {

void take_lines(std::string& text, const std::function<void(const std::string&)>& take) {
  for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
    take(text.substr(0, end));
    text.erase(0, end + 1);
  }
}

}  // namespace

Result<int> run_program(const std::vector<std::string>& line, const std::function<void(const std::string&)>& take) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(ErrorCode::kInternalError, std::strerror(errno));
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, writing.get(), STDOUT_FILENO);
  std::vector<char*> arguments;
  for (const auto& word : line) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return fail(ErrorCode::kNotFound, "cannot run " + line[0] + ": " + std::strerror(failed));
  {
    const auto closed = std::move(writing);
  }
  std::string text;
  std::array<char, 4096> piece{};
  for (;;) {
    const auto got = ::read(reading.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
    take_lines(text, take);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace tidemark::cli
