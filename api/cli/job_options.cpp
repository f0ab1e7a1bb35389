#include "api/cli/job_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "api/cli/answers.h"

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
    {"--not-before", "notBefore", "time of the earliest start: 2026-01-31T22:00:00Z, or \"2026-01-31 23:00\" here"},
};
constexpr std::string_view kTimes[] = {"movedAfter", "movedBefore", "notBefore"};
/// Of an archive outside of tables: what archive has as destination, unarchive as source.
constexpr MemberOption kArchiveOptions[] = {
    {"--container", "container", "archive, unarchive: a container instead of a table; offload: for the values"},
    {"--directory", "directory", "archive, unarchive: a directory of the workers' configuration instead of a table"},
    {"--prefix", "prefix", "archive, unarchive, offload: before every name, such as old/"},
    {"--table", "table", "unarchive: the table that was archived, if it is not the destination"},
    {"--format", "format", "archive, unarchive: entity (one document each) or lines (parts of many)"},
    {"--per", "per", "archive: a part holds one partition, hour, day or month"},
};
constexpr MemberOption kNumberOptions[] = {
    {"--max-attempts", "maxAttempts", "attempts before the job becomes poison"},
    {"--max-affected", "maxAffected", "stop instead of changing more entities than this"},
    {"--max-per-second", "maxPerSecond", "entities a second"},
    {"--keep-hours", "keepHours", "keep the record so long after the end"},
    {"--retry-base-ms", "retryBaseMs", "greatest delay before the first retry"},
    {"--retry-cap-ms", "retryCapMs", "greatest delay before any retry"},
    {"--min-bytes", "minBytes", "offload: properties of at least so many bytes"},
    {"--per-second", "perSecond", "redrive: messages a second"},
    {"--canary", "canary", "redrive: send so many first, the rest only if they succeed"},
    {"--timeout-ms", "timeoutMs", "callback: time for an answer"},
    {"--limit", "limit", "redrive: at most so many"},
};

}  // namespace

CLI::Validator positive_number() {
  return {[](std::string& text) -> std::string {
            const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
            const bool positive = digits && text.find_first_not_of('0') != std::string::npos;
            return positive ? "" : "it must be a whole number from 1 on, not " + text;
          },
          "from 1 on"};
}

void add_job_options(CLI::App& command, JobArguments& arguments) {
  command.add_option("kind", arguments.texts["kind"],
                     "archive, unarchive, copy, delete, index, offload, inline, undo, redrive or callback");
  for (const auto& [flag, member, meaning] : kTextOptions) {
    auto* option = command.add_option(flag, arguments.texts[member], meaning);
    if (std::ranges::find(kTimes, std::string_view(member)) != std::end(kTimes)) accept_local_time(*option);
  }
  for (const auto& [flag, member, meaning] : kArchiveOptions) {
    command.add_option(flag, arguments.archive[member], meaning);
  }
  command.add_flag("--gzip", arguments.gzip, "archive: compress the parts");
  command.add_flag("--keep-blobs", arguments.keep_blobs, "inline: leave the blobs where they are");
  for (const auto& [flag, member, meaning] : kNumberOptions) {
    command.add_option(flag, arguments.numbers[member], meaning)->check(positive_number());
  }
  arguments.filter_option = command.add_option("--filter", arguments.filter, "OData filter; '' selects every entity");
  command.add_option("--property-list", arguments.properties, "copy, offload, inline: these properties; all if absent");
  arguments.callback.declare(command);
  command.add_flag("--whole-table", arguments.whole_table, "delete: the table itself");
}

nlohmann::json job_of(const JobArguments& a) {
  auto job = nlohmann::json::object();
  for (const auto& [name, text] : a.texts) {
    if (!text.empty()) job[name] = text;
  }
  auto archive = nlohmann::json::object();
  for (const auto& [name, text] : a.archive) {
    if (!text.empty()) archive[name] = text;
  }
  if (a.gzip) archive["gzip"] = true;
  if (a.texts.at("kind") == "offload") {
    job.update(archive);  // a container for properties is no archive
  } else if (!archive.empty()) {
    job[a.texts.at("kind") == "unarchive" ? "source" : "destination"] = std::move(archive);
  }
  if (a.keep_blobs) job["keepBlobs"] = true;
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
