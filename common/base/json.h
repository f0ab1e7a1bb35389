// JSON from outside, read strictly. Pure.
#pragma once
#include <nlohmann/json.hpp>

#include <string_view>

#include "common/base/error.h"

namespace tidemark {

/// Values nested deeper are refused: whoever copies, prints or destroys a value recurses into it.
inline constexpr std::size_t kMaxJsonDepth = 64;

/// kInvalidInput, with a message that says what is wrong: broken JSON, deeper than kMaxJsonDepth, a member that is
/// given twice, or a whole number that does not fit into 64 bits and would come out as another one.
Result<nlohmann::json> read_json(std::string_view text);

/// The same for text that should be JSON but need not be: discarded if it is not.
nlohmann::json json_or_discarded(std::string_view text);

}  // namespace tidemark
