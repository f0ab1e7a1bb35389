// A name for a process that was started without one.
#pragma once
#include <string>

namespace tidemark::process {

/// Returns "PROGRAM-HOST-PID": a name that no other process of the stack has, neither on another machine nor in another
/// container, where every process may have the same process id. A container has the same name again after a restart.
std::string unique_name(const std::string& program);

}  // namespace tidemark::process
