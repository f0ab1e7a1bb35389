// The work of most commands: one call of the api, and the answer printed as JSON or for a person. Lists: paged_list.h.
#pragma once
#include <functional>
#include <initializer_list>
#include <vector>

#include "api/cli/api_client.h"

namespace CLI {
class Option;
}

namespace tidemark::cli {

inline constexpr long kMade = 201;  // the status of an answer: the thing did not exist before

/// Prints an answer for a person, on standard output.
using Print = std::function<void(const nlohmann::json&)>;

/// Prints it as JSON with --json, else by `print`. An answer without a body prints nothing as JSON.
void print_answer(const GlobalOptions& options, const nlohmann::json& answer, const Print& print);
/// Returns the exit code, as does wrong_arguments().
Result<int> call_and_print(const GlobalOptions& options, const std::string& method, const std::string& path,
                           const Print& print, const std::string& body = {}, const HttpHeaders& headers = {});
/// Reports a problem with the arguments; returns kUsage.
int wrong_arguments(const GlobalOptions& options, const std::string& why);

/// "/v1/COLLECTION/{name}ENDING"
std::string item_path(const std::string& collection, const std::string& name, const std::string& ending = {});
/// "?name=value&...", without empty parameters.
std::string query_of(std::initializer_list<std::pair<const char*, std::string>> parameters);

/// A file's content; "-" is standard input.
Result<std::string> read_file(const std::string& name);
/// Opens such a file.
Result<std::shared_ptr<std::istream>> open_file(const std::string& name);
/// Checks that reading ended because the input was at its end. kConfigInvalid.
Result<void> check_read(const std::istream& input);
/// Reads a JSON value from each line that is not blank; ends at the first error.
Result<void> read_json_lines(std::istream& input, const std::function<Result<void>(nlohmann::json)>& each);

/// Returns a string as it is, null as "", and any other value as JSON.
std::string text_of(const nlohmann::json& value);
/// A time, in this machine's time zone and to the second: "2026-11-21 23:51:39+01:00".
std::string time_of(const nlohmann::json& value);
/// text_of and time_of for a member, which may be absent.
std::string cell(const nlohmann::json& object, const char* member);
std::string time_cell(const nlohmann::json& object, const char* member);
/// "paused" or "active"
std::string activity(const nlohmann::json& paused);
/// Describes the rows that an index cannot write, with the keys that collide: "1 row is not written, because another
/// row has its key: TABLE/PARTITION/ROW".
std::string taken_keys(const nlohmann::json& in_the_way);
/// Describes an attempt at a job, or says that it was edited or sent back.
std::string history_line(const nlohmann::json& entry);

struct Column {
  const char* title;  // with '>' in front: figures, which are aligned to the right
  const char* path;   // JSON pointer of the value, "/progress/done"
  std::string (*shown)(const nlohmann::json& value) = text_of;  // null if it is absent
};
/// Shows an id; in a column of a table on a terminal, only as much of its end as distinguishes it from the others.
std::string id_of(const nlohmann::json& value);
/// Prints an array's objects, or one object, as the rows of a table; an empty array as `nothing`.
Print table_of(std::vector<Column> columns, const char* nothing = "nothing to list");
/// Prints a member of the answer.
Print member_of(const char* member, Print print);
/// Prints a text and ignores the answer.
Print said(const char* text);

/// Lets an option also accept a time in this machine's time zone; any other text goes to the api as it is.
void accept_local_time(CLI::Option& option);

std::string counted(std::uint64_t number, const std::string& one);  // "1 entity", "2 entities"
std::string one_decimal(const nlohmann::json& number);              // "0.5"; "?" if it is no number
std::string duration_of(const nlohmann::json& seconds);  // like readable_duration; nothing if it is no number
std::string readable_duration(double seconds);           // "42 s", "7 min", "3 h 20 min"
std::string readable_bytes(std::uint64_t bytes);         // "812 bytes", "47.5 KiB"

}  // namespace tidemark::cli
