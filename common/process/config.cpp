#include "common/process/config.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <variant>

#include "common/base/fail_points.h"

#include "common/process/known_settings.h"

#ifndef TIDEMARK_VERSION
#define TIDEMARK_VERSION "unknown"
#endif

namespace tidemark::process {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxFileBytes = 1UL << 20;
constexpr std::string_view kMask = "***";

struct Setting {
  std::string name;
  std::variant<std::string*, std::int64_t*, bool*> value;
  std::string default_text;
  std::string meaning;
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::vector<std::string> allowed;  // empty: any text
  bool secret = false;

  [[nodiscard]] std::string option() const {
    auto dashed = name;
    std::ranges::replace(dashed, '_', '-');
    return "--" + dashed;
  }
  [[nodiscard]] std::string variable() const {
    std::string out = "TIDEMARK_";
    for (char c : name) out.push_back(c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
    return out;
  }
  [[nodiscard]] std::string allowed_text() const {
    if (std::holds_alternative<std::int64_t*>(value)) return std::to_string(min) + " to " + std::to_string(max);
    if (std::holds_alternative<bool*>(value)) return "true or false";
    if (allowed.empty()) return "text";
    std::string out;
    for (const auto& choice : allowed) out += (out.empty() ? "" : ", ") + choice;
    return "one of " + out;
  }
  [[nodiscard]] std::string value_text() const {
    if (auto* text = std::get_if<std::string*>(&value)) return **text;
    if (auto* number = std::get_if<std::int64_t*>(&value)) return std::to_string(**number);
    return *std::get<bool*>(value) ? "true" : "false";
  }
};

std::unexpected<Error> invalid(const Setting& setting, std::string_view shown, const std::string& source) {
  std::string value(setting.secret ? kMask : shown);
  return fail(ErrorCode::kConfigInvalid, "The setting " + setting.name + " cannot be '" + value + "' (from " + source +
                                             "); allowed: " + setting.allowed_text() + ".");
}

/// From the environment and the command line, where everything is text.
Result<void> apply_text(Setting& setting, const std::string& text, const std::string& source) {
  if (auto* target = std::get_if<std::string*>(&setting.value)) {
    if (!setting.allowed.empty() && std::ranges::find(setting.allowed, text) == setting.allowed.end()) {
      return invalid(setting, text, source);
    }
    **target = text;
    return {};
  }
  if (auto* target = std::get_if<std::int64_t*>(&setting.value)) {
    std::int64_t number = 0;
    auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    bool whole = status == std::errc{} && end == text.data() + text.size();
    if (!whole || number < setting.min || number > setting.max) return invalid(setting, text, source);
    **target = number;
    return {};
  }
  if (text != "true" && text != "false" && text != "1" && text != "0") return invalid(setting, text, source);
  *std::get<bool*>(setting.value) = text == "true" || text == "1";
  return {};
}

/// From the file, where a value has a type, which must be the setting's.
Result<void> apply_json(Setting& setting, const Json& value, const std::string& source) {
  bool fits = (std::holds_alternative<std::string*>(setting.value) && value.is_string()) ||
              (std::holds_alternative<std::int64_t*>(setting.value) && value.is_number_integer()) ||
              (std::holds_alternative<bool*>(setting.value) && value.is_boolean());
  auto text = value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (!fits) return invalid(setting, text.substr(0, 100), source);
  return apply_text(setting, text, source);
}

Result<Json> read_file(const std::string& path) {
  auto refuse = [&path](const std::string& reason) {
    return fail(ErrorCode::kConfigInvalid, "The configuration file " + path + " " + reason);
  };
  std::ifstream in(path, std::ios::binary);
  if (!in) return refuse("cannot be opened. Does it exist, and may this user read it?");
  std::string text(kMaxFileBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || (in.fail() && !in.eof())) return refuse("cannot be read.");
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kMaxFileBytes) return refuse("is larger than 1 MiB.");
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
    document = Json::parse(text, note_repeats);
  } catch (const Json::parse_error& e) {
    // Not the parser's own message: it quotes the text around the error, which may be a secret.
    return refuse("is not valid JSON (at byte " + std::to_string(e.byte) +
                  "). It is one object, such as {\"data\": \"/srv/tidemark\", \"api\": {\"port\": 10003}}.");
  }
  if (!document.is_object())
    return refuse("must hold one JSON object, such as {\"data\": \"/srv/tidemark\", \"api\": {\"port\": 10003}}.");
  if (!twice.empty()) return refuse("names the setting '" + twice + "' twice.");
  return document;
}

}  // namespace

struct Settings::Impl {
  std::string program;
  std::string summary;
  std::vector<Setting> settings;

  Setting* find(std::string_view name) {
    auto found = std::ranges::find(settings, name, &Setting::name);
    return found == settings.end() ? nullptr : &*found;
  }

  Result<void> apply_file(const std::string& path) {
    auto document = TRY(read_file(path));
    for (const auto& [key, value] : document.items()) {
      if (value.is_object()) {
        if (!is_program(key)) return unknown_section(key, path);
        continue;
      }
      auto* setting = find(key);
      // A file may be shared: what another program knows is its business.
      if (setting == nullptr && is_known_setting(key)) continue;
      if (setting == nullptr) return unknown_key(key, path);
      TRY(apply_json(*setting, value, "the file " + path));
    }
    return apply_section(document, path);
  }

  /// The program's own section, which wins over what is set for all.
  Result<void> apply_section(const Json& document, const std::string& path) {
    const auto section = document.find(program);
    if (section == document.end() || !section->is_object()) return {};
    for (const auto& [key, value] : section->items()) {
      auto* setting = find(key);
      if (setting == nullptr) return unknown_key(key, path);
      TRY(apply_json(*setting, value, "the section " + program + " of the file " + path));
    }
    return {};
  }

  static Result<void> unknown_section(const std::string& key, const std::string& path) {
    std::string names;
    for (const auto name : kPrograms) names += (names.empty() ? "" : ", ") + std::string(name);
    return fail(ErrorCode::kConfigInvalid,
                "'" + key + "' (from the file " + path + ") is not a program; sections are for " + names + ".");
  }

  Result<void> unknown_key(const std::string& key, const std::string& path) const {
    std::string names;
    for (const auto& setting : settings) names += (names.empty() ? "" : ", ") + setting.name;
    return fail(ErrorCode::kConfigInvalid, "'" + key + "' (from the file " + path + ") is not a setting of " + program +
                                               "; allowed: " + names + ".");
  }

  Result<void> apply_environment() {
    for (auto& setting : settings) {
      auto variable = setting.variable();
      const char* text = std::getenv(variable.c_str());
      // Compose files pass unset variables on as empty ones.
      if (text == nullptr || *text == '\0') continue;
      TRY(apply_text(setting, text, "the environment variable " + variable));
    }
    return {};
  }
};

namespace {

/// What was on the command line, as text by position in the table.
struct CommandLine {
  std::vector<std::string> values;
  std::vector<CLI::Option*> options;
  std::string config_path;
};

void declare(CLI::App& app, const std::vector<Setting>& settings, CommandLine& line) {
  line.values.resize(settings.size());
  auto* config = app.add_option("--config", line.config_path, "A JSON file of settings. [TIDEMARK_CONFIG]");
  config->type_name("FILE");
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const auto& setting = settings[i];
    bool is_bool = std::holds_alternative<bool*>(setting.value);
    auto meaning = setting.meaning + " [" + setting.variable() + "]";
    auto* option = app.add_option(setting.option(), line.values[i], meaning);
    option->type_name(setting.allowed_text() + (is_bool ? " [" + setting.default_text + "]" : ""));
    if (is_bool) {
      // "--flag" alone means true; CLI11 would take a default_str for the missing value.
      option->expected(0, 1);
    } else {
      option->default_str(setting.secret ? "" : setting.default_text);
    }
    line.options.push_back(option);
  }
}

// Says what was not understood without repeating a value: it may be a secret behind a mistyped name.
std::string describe_extras(const std::vector<std::string>& extras) {
  for (const auto& extra : extras) {
    if (extra.starts_with("-"))
      return "The option " + extra.substr(0, extra.find('=')) + " does not exist; see --help.";
  }
  return "The command line has a value without an option before it; see --help.";
}

enum class Parsed { kRun, kPrinted };

Result<Parsed> parse_command_line(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    auto text = app.help();
    std::fputs(text.c_str(), stdout);
    return Parsed::kPrinted;
  } catch (const CLI::CallForVersion& version) {
    std::printf("%s\n", version.what());
    return Parsed::kPrinted;
  } catch (const CLI::ExtrasError&) {
    return fail(ErrorCode::kConfigInvalid, describe_extras(app.remaining()));
  } catch (const CLI::ParseError& e) {
    return fail(ErrorCode::kConfigInvalid, std::string("The command line: ") + e.what() + "; see --help.");
  }
  return Parsed::kRun;
}

}  // namespace

Settings::Settings(std::string program, std::string summary) : impl_(std::make_unique<Impl>()) {
  impl_->program = std::move(program);
  impl_->summary = std::move(summary);
}
Settings::~Settings() = default;

void Settings::add(std::string name, std::string& value, std::string meaning, bool secret) {
  impl_->settings.push_back({std::move(name), &value, value, std::move(meaning), 0, 0, {}, secret});
}
void Settings::add(std::string name, std::int64_t& value, std::int64_t min, std::int64_t max, std::string meaning) {
  impl_->settings.push_back({std::move(name), &value, std::to_string(value), std::move(meaning), min, max, {}, false});
}
void Settings::add(std::string name, bool& value, std::string meaning) {
  impl_->settings.push_back({std::move(name), &value, value ? "true" : "false", std::move(meaning), 0, 0, {}, false});
}
void Settings::add_choice(std::string name, std::string& value, std::vector<std::string> allowed, std::string meaning) {
  impl_->settings.push_back({std::move(name), &value, value, std::move(meaning), 0, 0, std::move(allowed), false});
}

Result<Settings::Outcome> Settings::parse(int argc, const char* const* argv) {
  auto& settings = impl_->settings;
  CLI::App app(impl_->summary, impl_->program);
  app.set_version_flag("--version", impl_->program + " " TIDEMARK_VERSION);
  bool list_fail_points = false;
  app.add_flag("--list-fail-points", list_fail_points, "Print where TIDEMARK_FAIL_POINT=NAME[:COUNT] can kill it.");
  CommandLine line;
  declare(app, settings, line);
  auto parsed = TRY(parse_command_line(app, argc, argv));
  if (parsed == Parsed::kPrinted) return Outcome::kExitSuccess;
  if (list_fail_points) {
    for (const auto& name : fail_point_names()) std::printf("%s\n", name.c_str());
    return Outcome::kExitSuccess;
  }
  TRY(arm_fail_point_from_environment());

  if (line.config_path.empty()) {
    if (const char* path = std::getenv("TIDEMARK_CONFIG")) line.config_path = path;
  }
  if (!line.config_path.empty()) {
    TRY(impl_->apply_file(line.config_path));
  }
  TRY(impl_->apply_environment());
  for (std::size_t i = 0; i < settings.size(); ++i) {
    if (line.options[i]->count() == 0) continue;
    bool bare_flag = std::holds_alternative<bool*>(settings[i].value) && line.values[i].empty();
    TRY(apply_text(settings[i], bare_flag ? "true" : line.values[i], "the option " + settings[i].option()));
  }
  return Outcome::kRun;
}

std::string Settings::describe() const {
  std::string out;
  for (const auto& setting : impl_->settings) {
    auto text = setting.value_text();
    if (setting.secret && !text.empty()) text = kMask;
    if (text.empty() || text.find_first_of(" \"") != std::string::npos) {
      text = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    out += (out.empty() ? "" : " ") + setting.name + "=" + text;
  }
  return out;
}

std::string Settings::reference() const {
  std::string out = "| setting | environment variable | default | meaning |\n|---|---|---|---|\n";
  for (const auto& setting : impl_->settings) {
    auto shown = setting.secret || setting.default_text.empty() ? std::string("-") : "`" + setting.default_text + "`";
    auto meaning = setting.meaning;
    for (auto at = meaning.find('|'); at != std::string::npos; at = meaning.find('|', at + 2))
      meaning.insert(at, 1, '\\');
    bool any_text = std::holds_alternative<std::string*>(setting.value) && setting.allowed.empty();
    if (!any_text) meaning += " Allowed: " + setting.allowed_text() + ".";
    out += "| `" + setting.name + "` | `" + setting.variable() + "` | " + shown + " | " + meaning + " |\n";
  }
  return out;
}

}  // namespace tidemark::process
