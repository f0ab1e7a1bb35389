#include "common/process/config.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <variant>

#include "common/base/encoding.h"
#include "common/base/fail_points.h"
#include "common/base/nearest_word.h"
#include "common/base/numbers.h"
#include "common/base/small_file.h"
#include "common/base/text.h"
#include "common/process/known_settings.h"

#ifndef TIDEMARK_VERSION
#define TIDEMARK_VERSION "unknown"
#endif

namespace tidemark::process {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kMask = "***";
constexpr std::string_view kVariableBeginning = "TIDEMARK_";
// TIDEMARK_ variables that are not settings of these programs, but of the command line, scripts and the compose file.
constexpr std::string_view kOtherVariables[] = {"api",        "api_port", "blob_port", "ca_file",    "config",
                                                "fail_point", "image",    "key",       "queue_port", "queue_url",
                                                "source",     "bin",      "env_file",  "table_port", "table_url"};

bool contains(const auto& items, std::string_view wanted) {
  return std::ranges::find(items, wanted) != std::ranges::end(items);
}

std::string joined(const auto& items, auto text_of) {
  std::string out;
  for (const auto& item : items) out.append(out.empty() ? "" : ", ").append(std::invoke(text_of, item));
  return out;
}

std::string variable_of(std::string_view setting) {
  std::string out(kVariableBeginning);
  for (const char c : setting) out.push_back(static_cast<char>(std::toupper(static_cast<unsigned char>(c))));
  return out;
}

std::string shown(const std::string& text) { return text; }
std::string shown(std::int64_t number) { return std::to_string(number); }
std::string shown(bool value) { return value ? "true" : "false"; }

}  // namespace

struct Setting {
  std::string name;
  std::variant<std::string*, std::int64_t*, bool*> value;
  std::string meaning;
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::vector<std::string> allowed = {};  // empty: any text
  bool secret = false;
  std::string default_text = value_text();
  // Values from the command line.
  CLI::Option* given = nullptr;
  std::string given_text = {};

  template <class T>
  [[nodiscard]] bool is() const {
    return std::holds_alternative<T*>(value);
  }
  [[nodiscard]] std::string option() const {
    auto dashed = name;
    std::ranges::replace(dashed, '_', '-');
    return "--" + dashed;
  }
  [[nodiscard]] std::string variable() const { return variable_of(name); }
  [[nodiscard]] std::string allowed_text() const {
    if (is<std::int64_t>()) return std::to_string(min) + " to " + std::to_string(max);
    if (is<bool>()) return "true or false";
    return allowed.empty() ? "text" : "one of " + joined(allowed, std::identity());
  }
  [[nodiscard]] std::string value_text() const {
    return std::visit([](const auto* target) { return shown(*target); }, value);
  }

  /// These return false if the text is not allowed.
  bool take(const std::string& text, std::string& into) const {
    if (!allowed.empty() && !contains(allowed, text)) return false;
    into = text;
    return true;
  }
  bool take(const std::string& text, std::int64_t& into) const {
    const auto number = parse_number(text, min, max);
    into = number.value_or(into);
    return number.has_value();
  }
  bool take(const std::string& text, bool& into) const {
    into = text == "true" || text == "1";
    return into || text == "false" || text == "0";
  }
};

namespace {

std::unexpected<Error> invalid(const Setting& setting, std::string_view text, const std::string& source) {
  std::string value(setting.secret ? kMask : text);
  return fail(ErrorCode::kConfigInvalid, "The setting " + setting.name + " cannot be '" + value + "' (from " + source +
                                             "); allowed: " + setting.allowed_text() + ".");
}

/// Applies a value from the environment or the command line, where everything is text.
Result<void> apply_text(Setting& setting, const std::string& text, const std::string& source) {
  const bool taken = std::visit([&](auto* target) { return setting.take(text, *target); }, setting.value);
  return taken ? Result<void>() : invalid(setting, text, source);
}

/// Applies a value from the file, where a value has a type, which must be that of the setting.
Result<void> apply_json(Setting& setting, const Json& value, const std::string& source) {
  const bool fits = setting.is<std::string>()    ? value.is_string()
                    : setting.is<std::int64_t>() ? value.is_number_integer()
                                                 : value.is_boolean();
  auto text = value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (!fits) return invalid(setting, std::string(beginning_of(text, 100)), source);
  return apply_text(setting, text, source);
}

Result<Json> read_file(const std::string& path) {
  auto refuse = [&path](const std::string& reason) {
    return fail(ErrorCode::kConfigInvalid, "The configuration file " + path + " " + reason);
  };
  const auto text = read_small_file(path);
  if (!text) return refuse(text.error().message + ".");
  std::map<std::string, std::set<std::string>> seen;  // by section; "" is the file itself
  std::string section;
  std::string twice;
  Json::parser_callback_t note_repeats = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::key && (depth == 1 || depth == 2)) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!seen[depth == 1 ? std::string() : section].insert(key).second) twice = key;
      if (depth == 1) section = key;
    }
    return true;
  };
  Json document;
  try {
    document = Json::parse(*text, note_repeats);
  } catch (const Json::parse_error& e) {
    // The parser's own message is left out: it quotes the text around the error, which may be a secret.
    return refuse("is not valid JSON (at byte " + std::to_string(e.byte) +
                  "). It is one object, such as {\"data\": \"/srv/tidemark\", \"api\": {\"port\": 10003}}.");
  }
  if (!document.is_object())
    return refuse("must hold one JSON object, such as {\"data\": \"/srv/tidemark\", \"api\": {\"port\": 10003}}.");
  if (!twice.empty()) return refuse("names the setting '" + twice + "' twice.");
  return document;
}

std::vector<std::string> names_of(const std::vector<Setting>& settings) {
  std::vector<std::string> names;
  for (const auto& setting : settings) names.push_back(setting.name);
  return names;
}

std::string guess(const std::string& word, const std::vector<std::string>& known) {
  const auto nearest = nearest_word(word, known);
  return nearest ? "did you mean '" + *nearest + "'? " : "";
}

Result<void> unknown_key(const std::vector<Setting>& settings, const std::string& key, const std::string& path,
                         const std::string& program) {
  return fail(ErrorCode::kConfigInvalid, "'" + key + "' (from the file " + path + ") is not a setting of " + program +
                                             "; " + guess(key, names_of(settings)) +
                                             "allowed: " + joined(settings, &Setting::name) + ".");
}

/// Applies the settings for all programs first, and then those of the program's own section, which win.
Result<void> apply_file(std::vector<Setting>& settings, const std::string& program, const std::string& path) {
  const auto find = [&](const std::string& name) { return std::ranges::find(settings, name, &Setting::name); };
  const auto document = TRY(read_file(path));
  for (const auto& [key, value] : document.items()) {
    const auto setting = find(key);
    if (value.is_object()) {
      if (contains(kPrograms, key)) continue;
      return fail(ErrorCode::kConfigInvalid, "'" + key + "' (from the file " + path +
                                                 ") is not a program; sections are for " +
                                                 joined(kPrograms, std::identity()) + ".");
    }
    if (setting != settings.end()) {
      TRY(apply_json(*setting, value, "the file " + path));
    } else if (!contains(kKnownSettings, key)) {  // it is a setting of another program that shares the file
      return unknown_key(settings, key, path, program);
    }
  }
  const auto section = document.find(program);
  if (section == document.end() || !section->is_object()) return {};
  for (const auto& [key, value] : section->items()) {
    const auto setting = find(key);
    if (setting == settings.end()) return unknown_key(settings, key, path, program);
    TRY(apply_json(*setting, value, "the section " + program + " of the file " + path));
  }
  return {};
}

Result<void> apply_environment(std::vector<Setting>& settings) {
  for (auto& setting : settings) {
    const auto variable = setting.variable();
    const char* text = std::getenv(variable.c_str());
    // Compose files pass unset variables on as empty ones.
    if (text == nullptr || *text == '\0') continue;
    TRY(apply_text(setting, text, "the environment variable " + variable));
  }
  return {};
}

Result<void> apply_command_line(std::vector<Setting>& settings) {
  for (auto& setting : settings) {
    if (setting.given->count() == 0) continue;
    const bool bare_flag = setting.is<bool>() && setting.given_text.empty();
    TRY(apply_text(setting, bare_flag ? "true" : setting.given_text, "the option " + setting.option()));
  }
  return {};
}

void declare(CLI::App& app, std::vector<Setting>& settings) {
  for (auto& setting : settings) {
    const auto meaning = setting.meaning + " [" + setting.variable() + "]";
    setting.given_text.clear();
    setting.given = app.add_option(setting.option(), setting.given_text, meaning);
    if (setting.is<bool>()) {
      setting.given->type_name(setting.allowed_text() + " [" + setting.default_text + "]");
      // "--flag" alone means true; CLI11 would take a default_str for the missing value.
      setting.given->expected(0, 1);
    } else {
      setting.given->type_name(setting.allowed_text())->default_str(setting.secret ? "" : setting.default_text);
    }
  }
}

// Says which part was not understood without repeating a value, which may be a secret behind a mistyped name.
std::string describe_extras(const std::vector<std::string>& extras) {
  for (const auto& extra : extras) {
    if (extra.starts_with("-"))
      return "The option " + extra.substr(0, extra.find('=')) + " does not exist; see --help.";
  }
  return "The command line has a value without an option before it; see --help.";
}

Result<Settings::Outcome> parse_command_line(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    app.exit(asked);  // prints help or version
    return Settings::Outcome::kExitSuccess;
  } catch (const CLI::ExtrasError&) {
    return fail(ErrorCode::kConfigInvalid, describe_extras(app.remaining()));
  } catch (const CLI::ParseError& e) {
    return fail(ErrorCode::kConfigInvalid, std::string("The command line: ") + e.what() + "; see --help.");
  }
  return Settings::Outcome::kRun;
}

}  // namespace

Settings::Settings(std::string program, std::string summary)
    : program_(std::move(program)), summary_(std::move(summary)) {}
Settings::~Settings() = default;

void Settings::add(std::string name, std::string& value, std::string meaning, bool secret) {
  settings_.push_back({.name = std::move(name), .value = &value, .meaning = std::move(meaning), .secret = secret});
}
void Settings::add(std::string name, std::int64_t& value, std::int64_t min, std::int64_t max, std::string meaning) {
  settings_.push_back(
      {.name = std::move(name), .value = &value, .meaning = std::move(meaning), .min = min, .max = max});
}
void Settings::add(std::string name, bool& value, std::string meaning) {
  settings_.push_back({.name = std::move(name), .value = &value, .meaning = std::move(meaning)});
}
void Settings::add_choice(std::string name, std::string& value, std::vector<std::string> allowed, std::string meaning) {
  settings_.push_back(
      {.name = std::move(name), .value = &value, .meaning = std::move(meaning), .allowed = std::move(allowed)});
}

Result<Settings::Outcome> Settings::parse(int argc, const char* const* argv) {
  CLI::App app(summary_, program_);
  app.set_version_flag("--version", program_ + " " TIDEMARK_VERSION);
  bool list_fail_points = false;
  app.add_flag("--list-fail-points", list_fail_points, "Print where TIDEMARK_FAIL_POINT=NAME[:COUNT] can kill it.");
  std::string file;
  app.add_option("--config", file, "A JSON file of settings. [TIDEMARK_CONFIG]")->type_name("FILE");
  declare(app, settings_);
  if (TRY(parse_command_line(app, argc, argv)) == Outcome::kExitSuccess) return Outcome::kExitSuccess;
  if (list_fail_points) {
    for (const auto& name : fail_point_names()) std::printf("%s\n", name.c_str());
    return Outcome::kExitSuccess;
  }
  TRY(arm_fail_point_from_environment());

  if (const char* path = std::getenv("TIDEMARK_CONFIG"); path != nullptr && file.empty()) file = path;
  if (!file.empty()) TRY(apply_file(settings_, program_, file));
  TRY(apply_environment(settings_));
  TRY(apply_command_line(settings_));
  return Outcome::kRun;
}

std::vector<std::string> misspelt_variables() {
  std::vector<std::string> known(std::begin(kKnownSettings), std::end(kKnownSettings));
  known.insert(known.end(), std::begin(kOtherVariables), std::end(kOtherVariables));
  std::vector<std::string> told;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable(*each, std::string_view(*each).find('='));
    if (!variable.starts_with(kVariableBeginning)) continue;
    const auto name = to_lower_ascii(variable.substr(kVariableBeginning.size()));
    if (contains(known, name)) continue;
    if (const auto nearest = nearest_word(name, known)) {
      told.push_back(std::string(variable) + " is not a setting; did you mean " + variable_of(*nearest) + "?");
    }
  }
  return told;
}

std::string Settings::describe() const {
  std::string out;
  for (const auto& setting : settings_) {
    auto text = setting.value_text();
    if (setting.secret && !text.empty()) text = kMask;
    if (text.empty() || text.find_first_of(" \"") != std::string::npos) {
      text = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    out += (out.empty() ? "" : " ") + setting.name + "=" + text;
  }
  return out;
}

}  // namespace tidemark::process
