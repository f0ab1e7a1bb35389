#include "api/cli/job_options.h"

#include <CLI/CLI.hpp>

namespace tidemark::cli {
namespace {

struct MemberOption {
  const char* flag;
  const char* member;
  const char* meaning;
};
constexpr MemberOption kTextOptions[] = {
    {"--source", "source", "table to read"},
    {"--destination", "destination", "table to write; created if absent"},
    {"--partition-key", "partitionKey", "one entity"},
    {"--row-key", "rowKey", "one entity"},
    {"--property", "property", "index: the property to index by"},
    {"--partition-key-template", "partitionKeyTemplate", "copy: such as {Department}"},
    {"--row-key-template", "rowKeyTemplate", "copy: such as {RowKey}_{LastName}"},
    {"--job", "job", "undo: the job to take back"},
    {"--poison-kind", "poisonKind", "redrive: messages of this kind"},
    {"--fingerprint", "fingerprint", "redrive: messages with this kind of failure"},
    {"--moved-after", "movedAfter", "redrive: messages that became poison at or after this time"},
    {"--moved-before", "movedBefore", "redrive: and before this time"},
    {"--url", "url", "callback: where to"},
    {"--method", "method", "callback: POST, PUT, PATCH, DELETE or GET"},
    {"--secret", "secret", "callback: name of the worker's secret that signs it"},
    {"--idempotency-key", "idempotencyKey", "the same key gives the same job again"},
    {"--priority", "priority", "high, normal or low"},
    {"--not-before", "notBefore", "time of the earliest start, such as 2026-01-31T22:00:00Z"},
};
constexpr MemberOption kNumberOptions[] = {
    {"--max-attempts", "maxAttempts", "attempts before the job becomes poison"},
    {"--max-affected", "maxAffected", "stop instead of changing more entities than this"},
    {"--max-per-second", "maxPerSecond", "entities a second"},
    {"--keep-hours", "keepHours", "keep the record so long after the end"},
    {"--retry-base-ms", "retryBaseMs", "greatest delay before the first retry"},
    {"--retry-cap-ms", "retryCapMs", "greatest delay before any retry"},
    {"--per-second", "perSecond", "redrive: messages a second"},
    {"--canary", "canary", "redrive: send so many first, the rest only if they succeed"},
    {"--timeout-ms", "timeoutMs", "callback: time for an answer"},
    {"--limit", "limit", "redrive: at most so many"},
};

}  // namespace

void add_job_options(CLI::App& command, JobArguments& arguments) {
  command.add_option("kind", arguments.texts["kind"],
                     "archive, unarchive, copy, delete, index, undo, redrive or callback");
  for (const auto& [flag, member, meaning] : kTextOptions) {
    command.add_option(flag, arguments.texts[member], meaning);
  }
  for (const auto& [flag, member, meaning] : kNumberOptions) {
    command.add_option(flag, arguments.numbers[member], meaning)->check(CLI::PositiveNumber);
  }
  arguments.filter_option = command.add_option("--filter", arguments.filter, "OData filter; '' selects every entity");
  command.add_option("--property-list", arguments.properties, "copy: the properties to copy; all if absent");
  arguments.callback.declare(command);
  command.add_flag("--whole-table", arguments.whole_table, "delete: the table itself");
}

nlohmann::json job_of(const JobArguments& a) {
  auto job = nlohmann::json::object();
  for (const auto& [name, text] : a.texts) {
    if (!text.empty()) job[name] = text;
  }
  for (const auto& [name, number] : a.numbers) {
    if (number > 0) job[name] = number;
  }
  if (job.contains("partitionKey") != job.contains("rowKey")) {
    job["partitionKey"] = a.texts.at("partitionKey");
    job["rowKey"] = a.texts.at("rowKey");
  }
  if (a.filter_option != nullptr && a.filter_option->count() > 0) job["filter"] = a.filter;
  if (a.whole_table) job["wholeTable"] = true;
  if (!a.properties.empty()) job["properties"] = a.properties;
  a.callback.add_to(job);
  return job;
}

}  // namespace tidemark::cli
