#include "api/cli/job_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "api/cli/answers.h"
#include "api/cli/numbers.h"
#include "jobs/kinds/kinds.h"
#include "jobs/spec/names.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::cli {
namespace {

using jobs::KindOption;
using Form = KindOption::Form;

/// Options of more than one kind, or of every job.
constexpr KindOption kCommonOptions[] = {
    {"--source", "source", "table to read"},
    {"--destination", "destination", "table to write; created if absent"},
    {"--source-account", "sourceAccount", "account of the source, if it is not that of the jobs"},
    {"--destination-account", "destinationAccount", "account of the destination, likewise"},
    {"--partition-key", "partitionKey", "one entity"},
    {"--row-key", "rowKey", "one entity"},
    {"--idempotency-key", "idempotencyKey", "the same key gives the same job again"},
    {"--priority", "priority", "high, normal or low"},
    {"--queue", "queue", "put it on a queue with workers of its own; default: those of the priorities"},
    {"--not-before", "notBefore", "time of the earliest start: 2026-01-31T22:00:00Z, or \"2026-01-31 23:00\" here",
     Form::kTime},
    {"--max-attempts", "maxAttempts", "attempts before the job becomes poison", Form::kNumber},
    {"--max-affected", "maxAffected", "stop instead of changing more entities than this", Form::kNumber},
    {"--max-per-second", "maxPerSecond", "entities a second", Form::kNumber},
    {"--keep-hours", "keepHours", "keep the record so long after the end", Form::kNumber},
    {"--retry-base-ms", "retryBaseMs", "greatest delay before the first retry", Form::kNumber},
    {"--retry-cap-ms", "retryCapMs", "greatest delay before any retry", Form::kNumber},
    {"--then", "then", "the job that follows its success, as JSON", Form::kJson},
};

/// Returns "archive, unarchive: a container instead of a table; offload: for the values".
std::string meaning_of(std::string_view flag) {
  std::vector<std::pair<std::string, std::vector<std::string_view>>> meanings;  // each with its kinds
  jobs::Kinds::for_each([&]<class Spec>(const Spec&) {
    for (const auto& option : Spec::kOptions) {
      if (option.flag != flag) continue;
      auto known = std::ranges::find(meanings, option.meaning, [](const auto& each) { return each.first; });
      if (known == meanings.end()) known = meanings.insert(known, {option.meaning, {}});
      known->second.push_back(Spec::kName);
    }
  });
  std::string out;
  for (const auto& [meaning, kinds] : meanings) out += (out.empty() ? "" : "; ") + jobs::joined(kinds) + ": " + meaning;
  return out;
}

/// Returns the parsed JSON, or the text itself if it is not JSON.
nlohmann::json json_or_text(const std::string& text) {
  auto parsed = nlohmann::json::parse(text, nullptr, false);
  return parsed.is_discarded() ? nlohmann::json(text) : parsed;
}

/// Returns {"NAME":VALUE,...} for texts of the form NAME=VALUE.
nlohmann::json values_of(const std::vector<std::string>& texts) {
  auto values = nlohmann::json::object();
  for (const auto& text : texts) {
    const auto equals = text.find('=');
    values[text.substr(0, equals)] = json_or_text(text.substr(equals + 1));
  }
  return values;
}

void add_option(CLI::App& command, JobArguments& arguments, const KindOption& option, const std::string& meaning) {
  const std::string flag = option.flag;
  const auto put_text = [&arguments, flag](const std::string& text) {
    if (!text.empty()) arguments.given[flag] = text;
  };
  switch (option.form) {
    case Form::kText:
      command.add_option_function<std::string>(flag, put_text, meaning);
      return;
    case Form::kTime:
      accept_local_time(*command.add_option_function<std::string>(flag, put_text, meaning));
      return;
    case Form::kNumber:
      command
          .add_option_function<std::int64_t>(
              flag, [&arguments, flag](std::int64_t number) { arguments.given[flag] = number; }, meaning)
          ->check(positive_number());
      return;
    case Form::kFlag:
      command.add_flag_callback(flag, [&arguments, flag] { arguments.given[flag] = true; }, meaning);
      return;
    case Form::kJson:
      command.add_option_function<std::string>(
          flag, [&arguments, flag](const std::string& text) { arguments.given[flag] = json_or_text(text); }, meaning);
      return;
    case Form::kNames:
      command.add_option_function<std::vector<std::string>>(
          flag, [&arguments, flag](const std::vector<std::string>& names) { arguments.given[flag] = names; }, meaning);
      return;
    case Form::kValues:
      command
          .add_option_function<std::vector<std::string>>(
              flag,
              [&arguments, flag](const std::vector<std::string>& texts) { arguments.given[flag] = values_of(texts); },
              meaning)
          ->check([](const std::string& text) {
            return text.find('=') == std::string::npos ? "must be NAME=VALUE" : std::string();
          });
      return;
  }
}

/// Returns the kinds that take an option; nothing if all do.
std::optional<std::vector<std::string_view>> takers_of(std::string_view flag) {
  constexpr std::string_view kOfMany[] = {
      "--source",  "--destination", "--source-account", "--destination-account", "--partition-key",
      "--row-key", "--filter",      "--max-affected",   "--max-per-second"};
  std::vector<std::string_view> out;
  bool special = std::ranges::find(kOfMany, flag) != std::end(kOfMany);
  if (flag == "--header" || flag == "--body") return std::vector{jobs::CallbackSpec::kName};
  const auto* common = std::ranges::find(kCommonOptions, flag, [](const auto& each) { return each.flag; });
  const std::string member = flag == "--filter" ? "filter" : common == std::end(kCommonOptions) ? "" : common->member;
  jobs::Kinds::for_each([&]<class Spec>(Spec spec) {
    const auto none = nlohmann::json::object();
    jobs::SpecMembers members(none);
    spec.members(members);
    const bool own = std::ranges::any_of(Spec::kOptions, [&](const auto& each) { return each.flag == flag; });
    const bool of_entities = Spec::kSelectsEntities && flag.starts_with("--max-");
    special = special || (own && common == std::end(kCommonOptions));
    if (own || of_entities || (!member.empty() && members.knows(member))) out.push_back(Spec::kName);
  });
  return special ? std::optional(std::move(out)) : std::nullopt;
}

/// Returns the kind's own description of the option, if it has one.
std::optional<std::string> meaning_for(std::string_view kind, std::string_view flag) {
  std::optional<std::string> out;
  jobs::Kinds::for_each([&]<class Spec>(const Spec&) {
    if (Spec::kName != kind) return;
    for (const auto& option : Spec::kOptions) {
      if (option.flag == flag) out = option.meaning;
    }
  });
  return out;
}

/// Among the options that only some kinds have, shows those of the kind that was named.
class KindHelp final : public CLI::Formatter {
 public:
  explicit KindHelp(CLI::App& command) : command_(command) {}

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    const auto* positional = command_.get_option("kind");
    const auto kind = positional->count() > 0 ? positional->results().front() : std::string();
    for (auto* option : command_.get_options([](const CLI::Option* each) { return !each->get_lnames().empty(); })) {
      const auto flag = "--" + option->get_lnames().front();
      const auto takers = takers_of(flag);
      if (!takers) continue;
      option->group(std::ranges::find(*takers, kind) == takers->end() ? "" : "Options of " + kind);
      if (const auto meaning = meaning_for(kind, flag)) option->description(*meaning);
    }
    // A hidden group leaves its empty line, too.
    return CLI::detail::find_and_replace(Formatter::make_help(app, std::move(name), mode), "\n\n\n", "\n\n");
  }

 private:
  CLI::App& command_;
};

void add_callback(nlohmann::json& job, const JobArguments& a) {
  for (const auto& header : a.headers) {
    const auto colon = header.find(':');
    const auto value = header.find_first_not_of(' ', colon + 1);
    job["headers"][header.substr(0, colon)] = value == std::string::npos ? "" : header.substr(value);
  }
  if (a.body) job["body"] = json_or_text(*a.body);
  if (!a.on_end.empty()) job["onEnd"] = {{"url", a.on_end}};
}

}  // namespace

void add_job_options(CLI::App& command, JobArguments& arguments) {
  auto kinds = jobs::Kinds::kNames;
  std::ranges::sort(kinds);
  command.add_option("kind", arguments.kind, jobs::joined(kinds) + "; with --help after it, its options");
  std::set<std::string_view> known;
  for (const auto& option : kCommonOptions) {
    add_option(command, arguments, option, option.meaning);
    known.insert(option.flag);
  }
  jobs::Kinds::for_each([&]<class Spec>(const Spec&) {
    for (const auto& option : Spec::kOptions) {
      if (known.insert(option.flag).second) add_option(command, arguments, option, meaning_of(option.flag));
    }
  });
  arguments.filter_option = command.add_option("--filter", arguments.filter, "OData filter; '' selects every entity");
  command.add_option("--header", arguments.headers, "callback: a header, as \"Name: value\"; may be given again")
      ->check([](const std::string& text) {
        return text.find(':') == std::string::npos ? "must be \"Name: value\"" : std::string();
      });
  command.add_option_function<std::string>(
      "--body", [&arguments](const std::string& text) { arguments.body = text; },
      "callback: what to send; as JSON if it is JSON");
  command.add_option("--on-end", arguments.on_end, "URL to call when the job has ended");
  const auto column = command.get_formatter()->get_column_width();
  command.formatter(std::make_shared<KindHelp>(command));
  command.get_formatter()->column_width(column);
}

bool describes_job(const JobArguments& a) {
  const bool filters = a.filter_option != nullptr && a.filter_option->count() > 0;
  return filters || a.body || !a.kind.empty() || !a.given.empty() || !a.headers.empty() || !a.on_end.empty();
}

Result<nlohmann::json> job_of(const JobArguments& a) {
  auto job = nlohmann::json::object();
  if (!a.kind.empty()) job["kind"] = a.kind;
  auto left = a.given;
  // If only one of the two keys is given, the other one is empty.
  if (left.contains("--partition-key") != left.contains("--row-key")) {
    for (const auto* key : {"--partition-key", "--row-key"}) left.emplace(key, "");
  }
  const char* twice = nullptr;
  const auto take = [&](const KindOption& option, bool own) {
    auto value = left.extract(option.flag);
    if (!value) return;
    // An option of another kind becomes a member that the api refuses.
    auto& into = own && option.object != nullptr ? job[option.object] : job;
    if (!into.is_object()) into = nlohmann::json::object();
    if (into.contains(option.member)) twice = option.flag;
    into[option.member] = std::move(value.mapped());
  };
  for (const bool own : {true, false}) {
    // A kind may have a common option in another place.
    if (!own) {
      for (const auto& option : kCommonOptions) take(option, true);
    }
    jobs::Kinds::for_each([&]<class Spec>(const Spec&) {
      if (own && a.kind != Spec::kName) return;
      for (const auto& option : Spec::kOptions) take(option, own);
    });
  }
  if (a.filter_option != nullptr && a.filter_option->count() > 0) job["filter"] = a.filter;
  if (twice != nullptr) {
    return fail(ErrorCode::kConfigInvalid, std::string(twice) +
                                               " names a table, and another option an archive outside of tables: only "
                                               "one of the two can be meant");
  }
  add_callback(job, a);
  return job;
}

}  // namespace tidemark::cli
