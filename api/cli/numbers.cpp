#include "api/cli/numbers.h"

#include <CLI/CLI.hpp>

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

}  // namespace tidemark::cli
