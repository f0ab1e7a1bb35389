#include "common/process/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/base/descriptor.h"

namespace tidemark::process {
namespace {

constexpr std::size_t kMaxBytes = 1UL << 20;
constexpr mode_t kOfOthers = 07;

}  // namespace

Result<std::string> read_private_file(const std::string& setting, const std::string& path) {
  const auto wrong = [&](const std::string& why) {
    return fail(ErrorCode::kConfigInvalid, setting + ": " + path + " " + why + ".");
  };
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat found{};
  if (!file || ::fstat(file.get(), &found) != 0) return wrong(std::string("cannot be read: ") + std::strerror(errno));
  if (!S_ISREG(found.st_mode)) return wrong("is not a file");
  if ((found.st_mode & kOfOthers) != 0) return wrong("can be read by other users: chmod 600 or 640 it");
  std::string text(kMaxBytes + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const auto got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0) return wrong(std::string("cannot be read: ") + std::strerror(errno));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kMaxBytes) return wrong("has more than 1 MiB");
  text.resize(size);
  return text;
}

}  // namespace tidemark::process
