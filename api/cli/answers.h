// What most commands do: one call of the api, or all pages of a list, and the answer printed as JSON or for a person.
#pragma once
#include <functional>
#include <ostream>

#include "api/cli/api_client.h"

namespace CLI {
class Option;
}

namespace tidemark::cli {

using Print = std::function<void(const nlohmann::json&)>;

/// The exit code. An answer without a body prints nothing with --json.
int call_and_print(const GlobalOptions& options, const std::string& method, const std::string& path,
                   const std::string& body, const Print& print, const HttpHeaders& headers = {});
/// Up to `most` items (0: all) of a list with pages, as one document of the form of a page: {MEMBER:[...],
/// "continuation"?}. `path` has its other parameters.
int list_and_print(const GlobalOptions& options, const std::string& path, const char* member, std::size_t most,
                   const Print& print);

/// A file's content; "-" is standard input.
Result<std::string> read_file(const std::string& name);

/// Rows under titles, columns aligned; figures to the right. The last column is not padded.
class TextTable {
 public:
  /// A title that begins with '>' is of a column of figures.
  explicit TextTable(std::vector<std::string> titles);
  void add(std::vector<std::string> row);
  void print(std::ostream& out) const;

 private:
  std::vector<bool> figures_;
  std::vector<std::vector<std::string>> rows_;  // the titles first
};

/// The text of a member, a number or boolean as JSON writes it, "" if it is absent.
std::string cell(const nlohmann::json& object, const char* member);

/// The same of a time, in this machine's time zone and to the second: "2026-11-21 23:51:39".
std::string time_cell(const nlohmann::json& object, const char* member);
/// Lets an option take such a time, too; anything else goes to the api as it is.
void accept_local_time(CLI::Option& option);

std::string readable_duration(double seconds);    // "42 s", "7 min", "3 h 20 min"
std::string readable_bytes(std::uint64_t bytes);  // "812 bytes", "47.5 KiB"

}  // namespace tidemark::cli
