// The action after a change of a table: a signed webhook, a message to a queue, or a job, for each match. Pure.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "feeds/on_change/rule.h"
#include "jobs/spec/on_end.h"
#include "table_store/model/feed.h"

namespace tidemark::jobs {
class CallbackPolicy;
}

namespace tidemark::feeds {

struct OnChangeDefinition {
  std::string filter;  // OData; applied to the entity after the change, or before its deletion
  std::optional<jobs::CallbackEndpoint> webhook;  // either the webhook
  std::string queue;                              // or the queue
  std::optional<Rule> rule;                       // or the rule is set
  When when = When::kMatches;
  bool old_values = false, new_values = false;  // the values that are sent
  std::uint32_t max_attempts = 10;              // for each change
  std::uint32_t timeout_ms = 10'000;            // for a webhook
  bool operator==(const OnChangeDefinition&) const = default;
  void members(jobs::SpecMembers& in);
};

/// A definition with the place to begin at, which is not part of it: "now" if it is absent.
struct OnChangeRequest {
  OnChangeDefinition definition;
  std::string after = "now";
  static constexpr const char* kSchema = "OnChangeSpec";
  void members(jobs::SpecMembers& in);
};

/// kOnChangeInvalid, with every problem.
Result<OnChangeRequest> parse_on_change(std::string_view text);
/// Reads the definition from a stored row.
Result<OnChangeDefinition> parse_on_change_definition(const nlohmann::json& body);
nlohmann::json to_json(const OnChangeDefinition& definition);
/// Tells whether the feed keeps the values that the filter needs and those that are sent.
bool keeps_enough(const table_store::ChangeFeed& feed, const OnChangeDefinition& definition);
/// Checks that the feed keeps the needed values, the endpoint is allowed, and the job can be one. kOnChangeInvalid,
/// with every problem.
Result<void> check_on_change(const OnChangeDefinition& definition, const table_store::ChangeFeed& feed,
                             const jobs::CallbackPolicy& callbacks);
/// Checks for 1 to 63 letters, digits, '.', '_' and '-', beginning with a letter or digit.
bool is_on_change_name(std::string_view name);
/// Tells whether following it needs the values before a change, or those after it.
bool needs_old_values(const OnChangeDefinition& definition);
bool needs_new_values(const OnChangeDefinition& definition);

}  // namespace tidemark::feeds
