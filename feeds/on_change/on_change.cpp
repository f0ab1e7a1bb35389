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
constexpr std::string_view kSampleTable = "Sample";
constexpr std::string_view kWhat = "The declaration is not valid: ";

constexpr jobs::About kAboutQueue{.meaning = "instead of webhook: the queue that gets a message for each change",
                                  .detail = "made if absent"};
constexpr jobs::About kAboutFilter{.meaning = "OData filter of the entity after the change, or before its deletion",
                                   .detail = "drops and creations match only without one"};
constexpr jobs::About kAboutWhen{
    .meaning = "which changes count, by the filter: the entity matches it afterwards, only afterwards, or only before",
    .detail = "default: enters with job, otherwise matches"};
constexpr jobs::About kAboutValues{.meaning = "values that are sent with each change"};
constexpr jobs::About kAboutAttempts{.meaning = "how often one change is tried; then the declaration stops"};
constexpr jobs::About kAboutTimeout{.meaning = "how long a webhook may take for its answer"};
constexpr jobs::About kAboutAfter{.meaning = "where to begin: oldest, now or a token"};

void queue_member(jobs::SpecMembers& in, std::string& queue) {
  if (in.text("queue", queue, kAboutQueue) && !queue_service::check_queue_name(queue)) {
    in.problem("queue must be the name of a queue");
  }
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
  if (!in.text("filter", filter, kAboutFilter)) return;
  const auto parsed = table_store::Filter::parse(filter);
  if (!parsed) in.problem("filter: " + parsed.error().message);
}

}  // namespace

void OnChangeDefinition::members(jobs::SpecMembers& in) {
  in.object("webhook", webhook, "a url", {.meaning = "endpoint that is called for each change"});
  queue_member(in, queue);
  rule_members(in, rule);
  const int targets = int{webhook.has_value()} + int{!queue.empty()} + int{rule.has_value()};
  if (in.problems().empty() && targets != 1) in.problem("one of webhook, queue and job is needed");
  if (!in.writes() && rule) when = When::kEnters;
  in.choice("when", kWhens, when, kAboutWhen);
  filter_member(in, filter);
  values_member(in, old_values, new_values, kAboutValues);
  in.number("maxAttempts", max_attempts, 1, kMostAttempts, kAboutAttempts);
  in.number("timeoutMs", timeout_ms, 1, kLongestTimeoutMs, kAboutTimeout);
}

void OnChangeRequest::members(jobs::SpecMembers& in) {
  definition.members(in);
  check_queue(in, definition.queue);
  in.text("after", after, kAboutAfter);
}

Result<OnChangeRequest> parse_on_change(std::string_view text) {
  const auto body = read_json(text);
  if (!body || !body->is_object()) {
    return jobs::invalid(ErrorCode::kOnChangeInvalid, kWhat,
                         {body ? std::string("it must be a JSON object") : body.error().message});
  }
  jobs::SpecMembers in(*body);
  OnChangeRequest out;
  out.members(in);
  in.refuse_unknown();
  if (!in.problems().empty()) return jobs::invalid(ErrorCode::kOnChangeInvalid, kWhat, in.problems());
  return out;
}

Result<OnChangeDefinition> parse_on_change_definition(const json& body) {
  if (!body.is_object()) return fail(ErrorCode::kOnChangeInvalid);
  jobs::SpecMembers in(body);
  OnChangeDefinition out;
  out.members(in);
  if (!in.problems().empty()) return jobs::invalid(ErrorCode::kOnChangeInvalid, kWhat, in.problems());
  return out;
}

json to_json(const OnChangeDefinition& definition) { return jobs::members_json(definition); }

bool needs_old_values(const OnChangeDefinition& definition) {
  return definition.old_values || definition.rule || !definition.filter.empty();
}

bool needs_new_values(const OnChangeDefinition& definition) {
  return definition.new_values || definition.rule || !definition.filter.empty();
}

bool keeps_enough(const table_store::ChangeFeed& feed, const OnChangeDefinition& definition) {
  return (feed.old_values || !needs_old_values(definition)) && (feed.new_values || !needs_new_values(definition));
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
    const auto* why = definition.rule              ? "a job needs the old and the new values"
                      : !definition.filter.empty() ? "a filter needs the old and the new values"
                                                   : "these values are needed";
    problems.push_back(std::string(why) + ": declare the feed with \"values\":\"both\"");
  }
  if (definition.rule) {
    const auto sample = sample_of(*definition.rule, std::string(kSampleTable));
    for (const auto& [name, text] : sample ? decltype(Error::fields)() : sample.error().fields)
      problems.push_back(text);
  }
  if (problems.empty()) return {};
  return jobs::invalid(ErrorCode::kOnChangeInvalid, kWhat, problems);
}

bool is_on_change_name(std::string_view name) {
  return jobs::is_simple_name(name, kMaxNameBytes) && jobs::is_alphanumeric(name.front());
}

}  // namespace tidemark::feeds
