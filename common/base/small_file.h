// Files that people write for a program, such as settings and keys: read whole, and bounded.
#pragma once
#include <string>

#include "common/base/error.h"

namespace tidemark {

/// Returns kConfigInvalid with a message that continues the file's name: "cannot be read: No such file or directory",
/// or "has more than 1024 KiB".
Result<std::string> read_small_file(const std::string& path, std::size_t most_bytes = std::size_t{1} << 20);

}  // namespace tidemark
