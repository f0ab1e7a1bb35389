// Runs another program of the stack and reads its output.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "common/base/error.h"

namespace tidemark::cli {

/// `take` gets each line of standard output; standard error is shared with this program. Returns the exit code.
/// kNotFound if the program cannot be started.
Result<int> run_program(const std::vector<std::string>& line, const std::function<void(const std::string&)>& take);

}  // namespace tidemark::cli
