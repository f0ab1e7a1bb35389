#include "api/cli/numbers.h"

#include <map>

#include <CLI/CLI.hpp>

#include "common/base/numbers.h"

namespace tidemark::cli {
namespace {

bool is_digits(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

CLI::Validator number_from(int least) {
  const auto from = "from " + std::to_string(least) + " on";
  return {[least, from](std::string& text) -> std::string {
            const bool fits = is_digits(text) && (least == 0 || text.find_first_not_of('0') != std::string::npos);
            return fits ? "" : "it must be a whole number " + from + ", not " + text;
          },
          from};
}

}  // namespace

CLI::Validator whole_number() { return number_from(0); }
CLI::Validator positive_number() { return number_from(1); }

CLI::Validator duration(std::int64_t least) {
  const std::string forms = "seconds, or such as 30m, 1h, 7d";
  return {[least, forms](std::string& text) -> std::string {
            static const std::map<char, std::int64_t> kUnits{{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86'400}};
            const auto unit = text.empty() ? kUnits.end() : kUnits.find(text.back());
            const auto number =
                parse_number<std::int32_t>(unit == kUnits.end() ? text : text.substr(0, text.size() - 1));
            const auto seconds = number.value_or(0) * (unit == kUnits.end() ? 1 : unit->second);
            if (!number || seconds < least || seconds > INT32_MAX) return "it must be " + forms + ", not " + text;
            text = std::to_string(seconds);
            return "";
          },
          forms};
}

}  // namespace tidemark::cli
