#include "feeds/on_change/on_change.h"

#include "common/base/json.h"
#include "feeds/definition/feed_json.h"
#include "jobs/callbacks/callback_policy.h"
#include "jobs/spec/job_queues.h"
#include "jobs/spec/spec_members.h"
#include "queue_service/model/queue_rules.h"
#include "table_store/model/filter.h"

namespace tidemark::feeds {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxNameBytes = 63;
constexpr std::int64_t kMostAttempts = 1000;
constexpr std::int64_t kLongestTimeoutMs = 120'000;
constexpr std::string_view kWhat = "The declaration is not valid: ";

void webhook_member(jobs::SpecMembers& in, std::optional<jobs::CallbackEndpoint>& webhook) {
  if (in.writes()) {
    if (webhook) in.put("webhook", jobs::on_end_json(*webhook));
    return;
  }
  const auto* given = in.any("webhook");
  if (given == nullptr) return;
  if (!given->is_object()) return in.problem("webhook must be an object with a url");
  in.nested("webhook", *given, webhook.emplace());
}

void queue_member(jobs::SpecMembers& in, OnChangeDefinition& definition) {
  auto& queue = definition.queue;
  if (in.writes() && queue.empty()) return;
  if (in.text("queue", queue) && !queue_service::check_queue_name(queue))
    in.problem("queue must be the name of a queue");
  if (in.writes() || definition.webhook.has_value() != !queue.empty()) return;
  if (in.problems().empty()) in.problem("either webhook or queue is needed");
}

/// A message there would be taken for a job, or for one that failed. Stored declarations may have such a queue.
void check_queue(jobs::SpecMembers& in, std::string_view queue) {
  const bool of_jobs = queue.starts_with(jobs::kJobQueue);
  if (of_jobs || queue_service::is_poison_queue(queue)) {
    in.problem("queue must not begin with " + std::string(jobs::kJobQueue) + ", as those of jobs do, or end with " +
               std::string(queue_service::kPoisonSuffix));
  }
}

void filter_member(jobs::SpecMembers& in, std::string& filter) {
  if (in.writes() && filter.empty()) return;
  if (!in.text("filter", filter)) return;
  const auto parsed = table_store::Filter::parse(filter);
  if (!parsed) in.problem("filter: " + parsed.error().message);
}

void definition_members(jobs::SpecMembers& in, OnChangeDefinition& definition) {
  webhook_member(in, definition.webhook);
  queue_member(in, definition);
  filter_member(in, definition.filter);
  values_member(in, definition.old_values, definition.new_values);
  in.number("maxAttempts", definition.max_attempts, 1, kMostAttempts);
  in.number("timeoutMs", definition.timeout_ms, 1, kLongestTimeoutMs);
}

}  // namespace

Result<OnChangeRequest> parse_on_change(std::string_view text) {
  const auto body = read_json(text);
  if (!body || !body->is_object()) {
    return jobs::invalid(ErrorCode::kOnChangeInvalid, kWhat,
                         {body ? std::string("it must be a JSON object") : body.error().message});
  }
  jobs::SpecMembers in(*body);
  OnChangeRequest out;
  definition_members(in, out.definition);
  check_queue(in, out.definition.queue);
  in.text("after", out.after);
  in.refuse_unknown();
  if (!in.problems().empty()) return jobs::invalid(ErrorCode::kOnChangeInvalid, kWhat, in.problems());
  return out;
}

Result<OnChangeDefinition> parse_on_change_definition(const json& body) {
  if (!body.is_object()) return fail(ErrorCode::kOnChangeInvalid);
  jobs::SpecMembers in(body);
  OnChangeDefinition out;
  definition_members(in, out);
  if (!in.problems().empty()) return jobs::invalid(ErrorCode::kOnChangeInvalid, kWhat, in.problems());
  return out;
}

json to_json(const OnChangeDefinition& definition) {
  auto out = nlohmann::ordered_json::object();
  auto copy = definition;
  jobs::SpecMembers to(out);
  definition_members(to, copy);
  return out;
}

bool keeps_enough(const table_store::ChangeFeed& feed, const OnChangeDefinition& definition) {
  const bool filters = !definition.filter.empty();
  const bool old_missing = (definition.old_values || filters) && !feed.old_values;
  const bool new_missing = (definition.new_values || filters) && !feed.new_values;
  return !old_missing && !new_missing;
}

Result<void> check_on_change(const OnChangeDefinition& definition, const table_store::ChangeFeed& feed,
                             const jobs::CallbackPolicy& callbacks) {
  std::vector<std::string> problems;
  if (definition.webhook) {
    const auto url = jobs::parse_callback_url(definition.webhook->url);
    const auto admitted = url ? callbacks.admit(*url) : Result<void>(fail(url.error()));
    if (!admitted) problems.push_back("webhook: " + admitted.error().message);
  }
  if (!keeps_enough(feed, definition)) {
    const bool filters = !definition.filter.empty();
    problems.push_back(std::string(filters ? "a filter needs the old and the new values" : "these values are needed") +
                       ": declare the feed with \"values\":\"both\"");
  }
  if (problems.empty()) return {};
  return jobs::invalid(ErrorCode::kOnChangeInvalid, kWhat, problems);
}

bool is_on_change_name(std::string_view name) {
  return jobs::is_simple_name(name, kMaxNameBytes) && jobs::is_alphanumeric(name.front());
}

}  // namespace tidemark::feeds
