// Reads JSON from outside strictly. Pure.
#pragma once
#include <nlohmann/json.hpp>

#include <string_view>

#include "common/base/error.h"

namespace tidemark {

/// Values that are nested deeper are refused, because copying, printing or destroying a value recurses into it.
inline constexpr std::size_t kMaxJsonDepth = 64;

/// Returns kInvalidInput with a message that names the fault: broken JSON, deeper than kMaxJsonDepth, a member that is
/// given twice, or a whole number that does not fit into 64 bits and would be changed.
Result<nlohmann::json> read_json(std::string_view text);

/// Does the same for text that should be JSON but need not be: the value is discarded() if the text is not JSON.
nlohmann::json json_or_discarded(std::string_view text);

}  // namespace tidemark
