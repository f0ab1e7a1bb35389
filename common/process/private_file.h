// Files with secrets, such as keys and tokens.
#pragma once
#include <string>

#include "common/base/error.h"

namespace tidemark::process {

/// Returns the content of a file that no other user of this machine may read, write or run. The message of
/// kConfigInvalid names the setting that named the file, and the remedy.
Result<std::string> read_private_file(const std::string& setting, const std::string& path);

}  // namespace tidemark::process
