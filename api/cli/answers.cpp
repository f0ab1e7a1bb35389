#include "api/cli/answers.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "api/cli/terminal.h"
#include "common/base/encoding.h"
#include "common/base/json.h"
#include "common/base/text.h"
#include "common/base/time.h"

namespace tidemark::cli {
namespace {

using nlohmann::json;

constexpr const char* kLocalTime = "%Y-%m-%d %H:%M:%S";
constexpr std::size_t kDateBytes = 10;
constexpr std::size_t kPieceBytes = 1UL << 16;

/// Returns null if the value is absent.
json at(const json& value, const json::json_pointer& where) { return value.contains(where) ? value.at(where) : json(); }

bool is_figure(const Column& column) { return column.title[0] == '>'; }

using Rows = std::vector<std::vector<std::string>>;  // the first has the titles

void shorten_ids(const std::vector<Column>& columns, Rows& rows) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].shown != id_of) continue;
    std::vector<std::string> ids;
    for (std::size_t row = 1; row < rows.size(); ++row) ids.push_back(rows[row][i]);
    ids = shortened(ids);
    for (std::size_t row = 1; row < rows.size(); ++row) rows[row][i] = std::move(ids[row - 1]);
  }
}

/// Removes columns in which all cells are empty.
void drop_empty(std::vector<Column>& columns, Rows& rows) {
  for (std::size_t i = columns.size(); i-- > 0;) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    if (std::any_of(rows.begin() + 1, rows.end(), [i](const auto& row) { return !row[i].empty(); })) continue;
    columns.erase(columns.begin() + at);
    for (auto& row : rows) row.erase(row.begin() + at);
  }
}

/// Returns which columns are useless when they are cut. The first column names the row.
std::vector<bool> of_whole_cells(const std::vector<Column>& columns) {
  std::vector<bool> whole;
  for (const auto& column : columns) {
    whole.push_back(whole.empty() || column.shown == id_of || column.shown == time_of || is_figure(column));
  }
  return whole;
}

std::string line_of(const std::vector<Column>& columns, const std::vector<std::string>& row,
                    const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const auto shown = cut(row[i], widths[i]);
    const std::string padding(widths[i] - length_of(shown), ' ');
    line += (i > 0 ? "  " : "") + (is_figure(columns[i]) ? padding + shown : shown + padding);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

bool says_something(const std::string& cell) { return cell.find_first_not_of("0.") != std::string::npos; }

/// Returns the columns for which the row's line had no room, as lines of `room` characters: each cell that is neither
/// empty nor zero, with its title.
std::vector<std::string> lines_below(const std::vector<Column>& columns, const std::vector<std::string>& row,
                                     std::size_t from, std::size_t room) {
  std::vector<std::string> lines;
  for (auto i = from; i < columns.size(); ++i) {
    if (!says_something(row[i])) continue;
    const auto told = std::string(columns[i].title + (is_figure(columns[i]) ? 1 : 0)) + ": " + row[i];
    const bool fits = !lines.empty() && length_of(lines.back()) + 2 + length_of(told) <= room;
    if (fits) {
      lines.back() += ", " + told;
    } else {
      lines.push_back(cut("  " + told, room));
    }
  }
  return lines;
}

/// Prints the rows with the columns aligned. On a terminal the lines fit its width, and columns without room go below
/// their row.
void print_rows(std::vector<Column> columns, Rows rows) {
  const auto room = terminal_width(STDOUT_FILENO);
  if (room > 0) {
    drop_empty(columns, rows);
    shorten_ids(columns, rows);
  }
  std::vector<std::size_t> widths(columns.size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], length_of(row[i]));
  }
  if (room > 0) widths = fitted(std::move(widths), of_whole_cells(columns), room);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::cout << line_of(columns, rows[i], widths) << "\n";
    if (i == 0) continue;
    for (const auto& line : lines_below(columns, rows[i], widths.size(), room)) std::cout << line << "\n";
  }
}

}  // namespace

void print_answer(const GlobalOptions& options, const json& answer, const Print& print) {
  if (!options.json) {
    print(answer);
  } else if (!answer.is_null()) {
    std::cout << answer << "\n";
  }
}

Result<int> call_and_print(const GlobalOptions& options, const std::string& method, const std::string& path,
                           const Print& print, const std::string& body, const HttpHeaders& headers) {
  auto api = TRY(ApiClient::create(options));
  print_answer(options, TRY(api.call(method, path, body, headers)), print);
  return kOk;
}

int wrong_arguments(const GlobalOptions& options, const std::string& why) {
  if (options.json) {
    std::cerr << json{{"error", {{"code", "WrongArguments"}, {"message", why}}}} << "\n";
  } else {
    std::cerr << "error: " << why << "\n";
  }
  return kUsage;
}

std::string item_path(const std::string& collection, const std::string& name, const std::string& ending) {
  return "/v1/" + collection + "/" + percent_encode(name) + ending;
}

std::string query_of(std::initializer_list<std::pair<const char*, std::string>> parameters) {
  std::string query;
  for (const auto& [name, value] : parameters) {
    if (!value.empty()) query += (query.empty() ? "?" : "&") + std::string(name) + "=" + percent_encode(value);
  }
  return query;
}

Result<std::string> read_file(const std::string& name) {
  const auto input = TRY(open_file(name));
  std::ostringstream text;
  for (std::array<char, kPieceBytes> piece{}; *input;) {
    input->read(piece.data(), piece.size());
    text.write(piece.data(), input->gcount());
  }
  TRY(check_read(*input));
  return std::move(text).str();
}

Result<void> check_read(const std::istream& input) {
  const bool failed = input.bad() || (&input == &std::cin && std::ferror(stdin) != 0);
  if (failed) return fail(ErrorCode::kConfigInvalid, "the input cannot be read to its end");
  return {};
}

Result<std::shared_ptr<std::istream>> open_file(const std::string& name) {
  if (name == "-") return std::shared_ptr<std::istream>(std::shared_ptr<void>(), &std::cin);
  std::error_code error;
  if (std::filesystem::is_directory(name, error)) return fail(ErrorCode::kConfigInvalid, name + " is a directory");
  auto opened = std::make_shared<std::ifstream>(name);
  if (!*opened) return fail(ErrorCode::kConfigInvalid, "cannot read " + name);
  return opened;
}

Result<void> read_json_lines(std::istream& input, const std::function<Result<void>(json)>& each) {
  std::string line;
  for (std::size_t number = 1; std::getline(input, line); ++number) {
    if (trimmed(line).empty()) continue;
    auto value = read_json(line);
    if (!value) return fail(value.error().code, "line " + std::to_string(number) + ": " + value.error().message);
    TRY(each(std::move(*value)));
  }
  return check_read(input);
}

std::string text_of(const json& value) {
  if (value.is_null()) return {};
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string time_of(const json& value) {
  auto text = text_of(value);
  const auto time = parse_iso8601(text);
  if (!time) return text;
  const auto seconds =
      static_cast<std::time_t>(std::chrono::floor<std::chrono::seconds>(*time).time_since_epoch().count());
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::array<char, 32> shown{};
  const auto size = std::strftime(shown.data(), shown.size(), "%Y-%m-%d %H:%M:%S%z", &local);
  std::string out(shown.data(), size);
  if (local.tm_gmtoff == 0) return out.replace(out.size() - 5, 5, "Z");
  return out.insert(out.size() - 2, ":");
}

std::string id_of(const json& value) { return text_of(value); }

std::string cell(const json& object, const char* member) { return text_of(at(object, json::json_pointer() / member)); }

std::string time_cell(const json& object, const char* member) {
  return time_of(at(object, json::json_pointer() / member));
}

std::string activity(const json& paused) { return paused == true ? "paused" : "active"; }

std::string history_line(const json& entry) {
  auto line = "round " + cell(entry, "round") + ", ";
  if (!entry.contains("number")) {
    line += entry.value("outcome", "") == "edited" ? "edited" : "sent back";
    line += " by " + cell(entry, "by") + "  " + time_cell(entry, "startedAt");
    return entry.contains("done") ? line + "  (done before: " + cell(entry, "done") + ")" : line;
  }
  line += "attempt " + cell(entry, "number") + ": " + cell(entry, "outcome") + "  " + cell(entry, "worker") + "  " +
          time_cell(entry, "startedAt") + "  " + cell(entry, "durationMs") + " ms";
  if (!entry.contains("code")) return line;
  return line + "  " + cell(entry, "errorClass") + "  " + cell(entry, "code") + ": " + cell(entry, "message");
}

std::string taken_keys(const json& in_the_way) {
  const auto rows = in_the_way.value("rows", 0ULL);
  std::string keys;
  for (const auto& each : in_the_way.value("examples", json::array()))
    keys += (keys.empty() ? "" : ", ") + text_of(each);
  return counted(rows, "row") +
         (rows == 1 ? " is not written, because another row has its key"
                    : " are not written, because other rows have their keys") +
         (keys.empty() ? "" : (rows == 1 ? ": " : ", such as ") + keys);
}

Print table_of(std::vector<Column> columns, const char* nothing) {
  return [columns = std::move(columns), nothing](const json& items) {
    if (items.is_array() && items.empty()) {
      std::cout << nothing << "\n";
      return;
    }
    std::vector<std::vector<std::string>> rows(1);
    for (const auto& column : columns) rows[0].emplace_back(column.title + (is_figure(column) ? 1 : 0));
    for (const auto& item : items.is_array() ? items : json::array({items})) {
      auto& row = rows.emplace_back();
      for (const auto& column : columns) row.push_back(column.shown(at(item, json::json_pointer(column.path))));
    }
    print_rows(columns, std::move(rows));
  };
}

Print member_of(const char* member, Print print) {
  return [member, print = std::move(print)](const json& answer) { print(answer.value(member, json::array())); };
}

Print said(const char* text) {
  return [text](const json&) { std::cout << text << "\n"; };
}

void accept_local_time(CLI::Option& option) {
  option.transform(
      [](std::string text) {
        for (const auto* form : {kLocalTime, "%Y-%m-%d %H:%M"}) {
          std::tm local{};
          local.tm_isdst = -1;
          const auto* end = ::strptime(text.c_str(), form, &local);
          if (end == nullptr || *end != '\0') continue;
          return to_iso8601(Time(std::chrono::seconds(::mktime(&local))));
        }
        // Accepts the form of time_of().
        if (text.size() > kDateBytes && text[kDateBytes] == ' ') text[kDateBytes] = 'T';
        return text;
      },
      "");
}

std::string counted(std::uint64_t number, const std::string& one) {
  const auto said = std::to_string(number) + " ";
  if (number == 1) return said + one;
  return said + (one.ends_with('y') ? one.substr(0, one.size() - 1) + "ies" : one + "s");
}

std::string one_decimal(const json& number) {
  return number.is_number() ? fmt::format("{:.1f}", number.get<double>()) : "?";
}

std::string duration_of(const json& seconds) {
  return seconds.is_number() ? readable_duration(seconds.get<double>()) : std::string();
}

std::string readable_duration(double seconds) {
  const auto whole = std::lround(seconds);
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return std::to_string(whole / 60) + " min";
  return std::to_string(whole / 3600) + " h " + std::to_string(whole % 3600 / 60) + " min";
}

std::string readable_bytes(std::uint64_t bytes) {
  constexpr double kStep = 1024;
  if (bytes < 1024) return std::to_string(bytes) + " bytes";
  auto amount = static_cast<double>(bytes) / kStep;
  const char* unit = "KiB";
  for (const auto* larger : {"MiB", "GiB", "TiB"}) {
    if (amount < kStep) break;
    amount /= kStep;
    unit = larger;
  }
  std::array<char, 32> shown{};
  return {shown.data(), static_cast<std::size_t>(std::snprintf(shown.data(), shown.size(), "%.1f %s", amount, unit))};
}

}  // namespace tidemark::cli
