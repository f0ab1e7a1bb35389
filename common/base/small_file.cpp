#include "common/base/small_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace tidemark {

Result<std::string> read_small_file(const std::string& path, std::size_t most_bytes) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::string bytes(most_bytes + 1, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!in.is_open() || in.bad()) {
    return fail(ErrorCode::kConfigInvalid, std::string("cannot be read: ") + std::strerror(errno != 0 ? errno : EIO));
  }
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  if (bytes.size() > most_bytes) {
    return fail(ErrorCode::kConfigInvalid, "has more than " + std::to_string(most_bytes >> 10) + " KiB");
  }
  return bytes;
}

}  // namespace tidemark
