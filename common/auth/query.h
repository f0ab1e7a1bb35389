// The query of a URL as signatures see it: every parameter decoded. Pure; no errors besides "malformed".
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark::auth {

struct QueryParameter {
  std::string name;   // decoded, case kept
  std::string value;  // decoded; '+' is a space, except in `sig`, which never holds one
};

/// Nothing for a broken percent escape or an absurd number of parameters.
std::optional<std::vector<QueryParameter>> decode_query(std::string_view raw);

}  // namespace tidemark::auth
