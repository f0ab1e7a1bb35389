// Files with secrets, such as keys and tokens.
#pragma once
#include <string>

#include "common/base/error.h"

namespace tidemark::process {

/// The content of a file that no other users of this machine can read, write or run. kConfigInvalid names the setting
/// that named the file, and says what to do.
Result<std::string> read_private_file(const std::string& setting, const std::string& path);

}  // namespace tidemark::process
