// The settings of a process: name, default, meaning. A value comes from the last of these that has one: the default,
// the configuration file, the environment (TIDEMARK_ and the name in upper case), the command line (--name value). The
// file is named by --config or TIDEMARK_CONFIG. It is JSON, with settings for all programs and sections for one program
// each, which override them: {"data":D,"api":{"port":N}}. An empty environment variable counts as not set. The error
// for a wrong name or value says which it is and which values are allowed. TIDEMARK_FAIL_POINT is read too
// (common/base/fail_points.h). Use it from one thread, before the others start.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace tidemark::process {

struct Setting;

class Settings {
 public:
  explicit Settings(std::string program, std::string summary);
  ~Settings();
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

  /// Names are snake_case with the unit last, e.g. "idle_timeout_s"; --idle-timeout-s on the command line.
  /// `value` has the default when this is called; parse() stores the effective value in it.
  void add(std::string name, std::string& value, std::string meaning, bool secret = false);
  void add(std::string name, std::int64_t& value, std::int64_t min, std::int64_t max, std::string meaning);
  void add(std::string name, bool& value, std::string meaning);
  void add_choice(std::string name, std::string& value, std::vector<std::string> allowed, std::string meaning);

  enum class Outcome { kRun, kExitSuccess };
  /// kExitSuccess if --help, --version or --list-fail-points was printed. kConfigInvalid with a message for people.
  Result<Outcome> parse(int argc, const char* const* argv);
  /// Returns "name=value" for every setting, with secrets masked, for the log at startup.
  [[nodiscard]] std::string describe() const;

 private:
  std::string program_, summary_;
  std::vector<Setting> settings_;
};

/// A sentence for each environment variable that begins with TIDEMARK_ and is almost, but not quite, that of a setting.
std::vector<std::string> misspelt_variables();

}  // namespace tidemark::process
