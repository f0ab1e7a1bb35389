// Service properties of the queue endpoint: a PUT is checked and laid over what was set before; the GET always has
// every section. Kept as the canonical document. No I/O.
#pragma once
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace tidemark::queue_service::rest {

/// What a fresh account has.
std::string default_service_properties();
/// Sections absent from `body` keep what `current` (canonical, or empty) says.
Result<std::string> merge_service_properties(std::string_view current, std::string_view body);

}  // namespace tidemark::queue_service::rest
