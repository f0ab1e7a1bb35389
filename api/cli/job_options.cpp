#include "api/cli/job_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <optional>

#include "api/cli/answers.h"
#include "api/cli/numbers.h"
#include "common/base/nearest_word.h"
#include "jobs/kinds/kinds.h"
#include "jobs/spec/job_spec.h"
#include "jobs/spec/names.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::cli {
namespace {

using jobs::Member;
using nlohmann::json;

enum class Form : std::uint8_t { kText, kTime, kNumber, kFlag, kNames, kHeaders, kValues, kEndpoint, kJson };

struct JobOption {
  std::string flag;
  std::string member;  // of the job, or of `object`
  std::string object;  // set: `member` is in this member of the job
  std::string meaning;
  Form form = Form::kText;
};

/// Stands for all kinds that users have declared.
constexpr std::string_view kOwnKinds = "a kind of your own";

/// Returns the name under which the options of a kind are kept.
std::string_view options_name(std::string_view kind) { return kind.empty() || jobs::is_kind(kind) ? kind : kOwnKinds; }

struct KindOptions {
  std::string_view kind;
  std::vector<JobOption> options;
};

/// The order of the help, where it is not the order of the members: that one is also the order in which jobs are read
/// and written, which cannot change.
constexpr std::string_view kFirst[] = {
    "--source",  "--destination",  "--source-account", "--destination-account", "--partition-key",
    "--row-key", "--max-affected", "--max-per-second", "--idempotency-key",     "--priority",
    "--queue",   "--not-before",   "--max-attempts",   "--keep-hours"};
constexpr std::string_view kLast[] = {"--table",  "--secret", "--timeout-ms", "--filter",
                                      "--header", "--body",   "--on-end"};

std::ptrdiff_t place_in_help(std::string_view flag) {
  const auto first = std::ranges::find(kFirst, flag);
  if (first != std::end(kFirst)) return first - std::end(kFirst);
  const auto last = std::ranges::find(kLast, flag);
  return last == std::end(kLast) ? 0 : last - std::begin(kLast) + 1;
}

Form form_of(const nlohmann::ordered_json& schema) {
  const auto type = schema.value("type", "");
  if (type == "string") return schema.contains("format") ? Form::kTime : Form::kText;
  if (type == "integer") return Form::kNumber;
  if (type == "boolean") return Form::kFlag;
  if (type == "array") return Form::kNames;
  if (type == "object") return Form::kHeaders;
  if (schema == jobs::reference("PropertyValues")) return Form::kValues;
  if (schema == jobs::reference("OnEnd")) return Form::kEndpoint;
  return schema.contains("oneOf") ? Form::kText : Form::kJson;
}

/// Returns "--max-attempts" for maxAttempts.
std::string flag_of(const Member& member) {
  if (member.about.flag != nullptr) return member.about.flag;
  std::string out = "--";
  for (const char c : member.name) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper) out += '-';
    out += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

std::string meaning_of(const jobs::About& about) {
  const auto* text = about.option != nullptr ? about.option : about.meaning;
  return text == nullptr ? "" : text;
}

/// Adds an option for each member, and for each inner member of an object.
void add_options(std::vector<JobOption>& out, const std::vector<Member>& members, const std::string& object = "") {
  for (const auto& each : members) {
    auto flag = flag_of(each);
    if (!flag.empty())
      out.push_back({std::move(flag), each.name, object, meaning_of(each.about), form_of(each.schema)});
    add_options(out, each.inner, each.name);
  }
}

const std::vector<JobOption>& options_of_every_job() {
  static const auto kAll = [] {
    std::vector<JobOption> out;
    add_options(out, jobs::members_of_every_job());
    return out;
  }();
  return kAll;
}

const std::vector<KindOptions>& options_of_kinds() {
  static const auto kAll = [] {
    std::vector<KindOptions> out;
    jobs::Kinds::for_each([&]<class Spec>(const Spec&) {
      auto& kind = out.emplace_back(Spec::kName);
      add_options(kind.options, jobs::members_of<Spec>());
      if (Spec::kSelectsEntities) add_options(kind.options, jobs::members_of_selecting_jobs());
    });
    add_options(out.emplace_back(kOwnKinds).options, jobs::members_of<jobs::OwnSpec>());
    return out;
  }();
  return kAll;
}

/// Returns each option once, in the order of the help.
std::vector<JobOption> all_options() {
  auto out = options_of_every_job();
  for (const auto& [kind, options] : options_of_kinds()) {
    for (const auto& option : options) {
      if (std::ranges::find(out, option.flag, &JobOption::flag) == out.end()) out.push_back(option);
    }
  }
  std::ranges::stable_sort(out, {}, [](const auto& each) { return place_in_help(each.flag); });
  return out;
}

/// Returns the parsed JSON, or the text itself if it is not JSON.
json json_or_text(const std::string& text) {
  auto parsed = json::parse(text, nullptr, false);
  return parsed.is_discarded() ? json(text) : parsed;
}

/// Returns {"NAME":VALUE,...} for texts of the form NAME=VALUE.
json named_values(const std::vector<std::string>& texts) {
  auto values = json::object();
  for (const auto& text : texts) {
    const auto equals = text.find('=');
    values[text.substr(0, equals)] = json_or_text(text.substr(equals + 1));
  }
  return values;
}

/// Returns {"NAME":"VALUE",...} for texts of the form "NAME: VALUE".
json headers_of(const std::vector<std::string>& texts) {
  auto headers = json::object();
  for (const auto& text : texts) {
    const auto colon = text.find(':');
    const auto value = text.find_first_not_of(' ', colon + 1);
    headers[text.substr(0, colon)] = value == std::string::npos ? "" : text.substr(value);
  }
  return headers;
}

/// Returns a check that refuses a text without the character.
std::function<std::string(const std::string&)> needs(char character, const char* problem) {
  return [=](const std::string& text) { return text.find(character) == std::string::npos ? problem : std::string(); };
}

/// Adds an option whose value is made from a `Given` by `convert`, if that returns one.
template <class Given>
CLI::Option* add_converted(CLI::App& command, JobArguments& arguments, const JobOption& option, auto convert) {
  const auto put = [&arguments, convert, flag = option.flag](const Given& given) {
    if (std::optional<json> value = convert(given)) arguments.given[flag] = std::move(*value);
  };
  return command.add_option_function<Given>(option.flag, put, option.meaning);
}

void add_option(CLI::App& command, JobArguments& arguments, const JobOption& option) {
  using Texts = std::vector<std::string>;
  // An empty text is as good as none, except as a filter, which then selects every entity.
  const auto text = [empty_too = option.flag == "--filter"](const std::string& given) {
    return given.empty() && !empty_too ? std::nullopt : std::optional<json>(given);
  };
  const auto endpoint = [](const std::string& url) {
    return url.empty() ? std::nullopt : std::optional(json{{"url", url}});
  };
  const auto same = [](const auto& given) { return json(given); };
  switch (option.form) {
    case Form::kText:
      add_converted<std::string>(command, arguments, option, text);
      return;
    case Form::kTime:
      accept_local_time(*add_converted<std::string>(command, arguments, option, text));
      return;
    case Form::kNumber:
      add_converted<std::int64_t>(command, arguments, option, same)->check(positive_number());
      return;
    case Form::kFlag:
      command.add_flag_callback(
          option.flag, [&arguments, flag = option.flag] { arguments.given[flag] = true; }, option.meaning);
      return;
    case Form::kJson:
      add_converted<std::string>(command, arguments, option, json_or_text);
      return;
    case Form::kEndpoint:
      add_converted<std::string>(command, arguments, option, endpoint);
      return;
    case Form::kNames:
      add_converted<Texts>(command, arguments, option, same);
      return;
    case Form::kHeaders:
      add_converted<Texts>(command, arguments, option, headers_of)->check(needs(':', "must be \"Name: value\""));
      return;
    case Form::kValues:
      add_converted<Texts>(command, arguments, option, named_values)->check(needs('=', "must be NAME=VALUE"));
      return;
  }
}

const JobOption* find_option(const std::vector<JobOption>& options, std::string_view flag) {
  const auto found = std::ranges::find(options, flag, &JobOption::flag);
  return found == options.end() ? nullptr : &*found;
}

/// Returns the kinds' own options of this name, by kind; nothing if every job has the option, or none.
std::map<std::string_view, const JobOption*> takers_of(std::string_view flag) {
  std::map<std::string_view, const JobOption*> out;
  for (const auto& [kind, options] : options_of_kinds()) {
    if (const auto* own = find_option(options, flag)) out.emplace(kind, own);
  }
  return out;
}

/// Among the options that only some kinds have, shows those of the kind that was named.
class KindHelp final : public CLI::Formatter {
 public:
  explicit KindHelp(CLI::App& command) : command_(command) {}

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    const auto* positional = command_.get_option("kind");
    const std::string kind(options_name(positional->count() > 0 ? positional->results().front() : ""));
    for (auto* option : command_.get_options([](const CLI::Option* each) { return !each->get_lnames().empty(); })) {
      const auto flag = "--" + option->get_lnames().front();
      const auto takers = takers_of(flag);
      if (takers.empty()) continue;
      const auto own = takers.find(kind);
      const bool shown = own != takers.end();
      option->group(shown ? "Options of " + kind : "");
      if (shown) option->description(own->second->meaning);
    }
    // A hidden group leaves its empty line, too.
    return CLI::detail::find_and_replace(Formatter::make_help(app, std::move(name), mode), "\n\n\n", "\n\n");
  }

 private:
  CLI::App& command_;
};

}  // namespace

void add_job_options(CLI::App& command, JobArguments& arguments) {
  auto kinds = jobs::Kinds::kNames;
  std::ranges::sort(kinds);
  for (const auto& option : all_options()) add_option(command, arguments, option);
  // After the options, so that its check sees them.
  command
      .add_option("kind", arguments.kind,
                  jobs::joined(kinds) + ", or a kind of your own; with --help after it, its options")
      ->check(CLI::Validator(
          [&arguments](const std::string& kind) {
            const std::vector<std::string> known(jobs::Kinds::kNames.begin(), jobs::Kinds::kNames.end());
            if (kind.empty() || std::ranges::find(known, kind) != known.end()) return std::string();
            // The api knows the kinds that were declared. A name that is nearly that of a built-in kind is a mistake,
            // unless the options are those of a declared one.
            const bool own = arguments.given.contains("--input") || arguments.given.contains("--kind-version");
            const auto guess = guess_of(kind, known);
            if (jobs::is_own_kind_name(kind) && (own || guess.empty())) return std::string();
            return "there is no kind of job \"" + kind + "\"." + guess;
          },
          ""));
  const auto column = command.get_formatter()->get_column_width();
  command.formatter(std::make_shared<KindHelp>(command));
  command.get_formatter()->column_width(column);
}

bool describes_job(const JobArguments& a) { return !a.kind.empty() || !a.given.empty(); }

Result<json> job_of(const JobArguments& a) {
  auto job = json::object();
  if (!a.kind.empty()) job["kind"] = a.kind;
  auto left = a.given;
  // If only one of the two keys is given, the other one is empty.
  if (left.contains("--partition-key") != left.contains("--row-key")) {
    for (const auto* key : {"--partition-key", "--row-key"}) left.emplace(key, "");
  }
  std::string twice;
  const auto take = [&](const JobOption& option, bool nested) {
    auto value = left.extract(option.flag);
    if (!value) return;
    auto& into = nested ? job[option.object] : job;
    if (into.contains(option.member)) twice = option.flag;
    into[option.member] = std::move(value.mapped());
  };
  for (const auto& [kind, options] : options_of_kinds()) {
    if (kind != options_name(a.kind)) continue;
    for (const auto& option : options) {
      if (!option.object.empty()) take(option, true);
    }
    for (const auto& option : options) take(option, false);
  }
  // An option of another kind becomes a member that the api refuses.
  for (const auto& option : all_options()) take(option, false);
  if (twice.empty()) return job;
  return fail(
      ErrorCode::kConfigInvalid,
      twice + " names a table, and another option an archive outside of tables: only one of the two can be meant");
}

}  // namespace tidemark::cli
