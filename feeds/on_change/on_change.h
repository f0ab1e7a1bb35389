// What follows the changes of a table: a signed webhook, or a message to a queue, for each change that matches. Pure.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "jobs/spec/on_end.h"
#include "table_store/model/feed.h"

namespace tidemark::jobs {
class CallbackPolicy;
}

namespace tidemark::feeds {

struct OnChangeDefinition {
  std::string filter;                             // OData; of the entity after the change, or before its deletion
  std::optional<jobs::CallbackEndpoint> webhook;  // either this
  std::string queue;                              // or that
  bool old_values = false, new_values = false;    // that are told
  std::uint32_t max_attempts = 10;                // for one change
  std::uint32_t timeout_ms = 10'000;              // of a webhook
  bool operator==(const OnChangeDefinition&) const = default;
};

/// With the place to begin at, which is no part of the definition: "now" if it is not given.
struct OnChangeRequest {
  OnChangeDefinition definition;
  std::string after = "now";
};

/// kOnChangeInvalid, with every problem.
Result<OnChangeRequest> parse_on_change(std::string_view text);
/// Of a stored row.
Result<OnChangeDefinition> parse_on_change_definition(const nlohmann::json& body);
nlohmann::json to_json(const OnChangeDefinition& definition);
/// Whether the feed keeps the values that the filter looks at and those that are told.
bool keeps_enough(const table_store::ChangeFeed& feed, const OnChangeDefinition& definition);
/// What it needs must be kept, and its endpoint allowed. kOnChangeInvalid, with every problem.
Result<void> check_on_change(const OnChangeDefinition& definition, const table_store::ChangeFeed& feed,
                             const jobs::CallbackPolicy& callbacks);
/// 1 to 63 letters, digits, '.', '_' and '-', a letter or digit first.
bool is_on_change_name(std::string_view name);

}  // namespace tidemark::feeds
