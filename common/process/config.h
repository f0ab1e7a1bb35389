// One table of settings per process: name, default, meaning. Sources, later wins: defaults, the configuration file
// (JSON: settings for all programs, and a section for each that wins: {"data":D,"api":{"port":N}}), environment
// (TIDEMARK_ + NAME in upper case), command line (--name value). A wrong name or value is an error that says which and
// what is allowed. The file is named by --config or TIDEMARK_CONFIG; an environment variable that is empty counts as
// not set. TIDEMARK_FAIL_POINT is obeyed too (common/base/fail_points.h). For one thread, before the others start.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace tidemark::process {

class Settings {
 public:
  explicit Settings(std::string program, std::string summary);
  ~Settings();
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

  /// Names are snake_case with the unit last, e.g. "idle_timeout_s"; --idle-timeout-s on the command line.
  /// The reference is filled with the default at once and with the effective value by parse().
  void add(std::string name, std::string& value, std::string meaning, bool secret = false);
  void add(std::string name, std::int64_t& value, std::int64_t min, std::int64_t max, std::string meaning);
  void add(std::string name, bool& value, std::string meaning);
  void add_choice(std::string name, std::string& value, std::vector<std::string> allowed, std::string meaning);

  enum class Outcome { kRun, kExitSuccess };
  /// kExitSuccess after --help, --version or --list-fail-points were printed. Errors: kConfigInvalid with a message for
  /// a person.
  Result<Outcome> parse(int argc, const char* const* argv);
  /// "name=value" of every setting, secrets masked: for the log at start.
  [[nodiscard]] std::string describe() const;
  /// A markdown table of all settings: name, environment variable, default, meaning.
  [[nodiscard]] std::string reference() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tidemark::process
