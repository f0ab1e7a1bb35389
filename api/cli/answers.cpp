#include "api/cli/answers.h"

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iostream>

#include "common/base/encoding.h"
#include "common/base/time.h"

namespace tidemark::cli {
namespace {

constexpr const char* kLocalTime = "%Y-%m-%d %H:%M:%S";

}  // namespace

using nlohmann::json;

int call_and_print(const GlobalOptions& options, const std::string& method, const std::string& path,
                   const std::string& body, const Print& print, const HttpHeaders& headers) {
  auto api = ApiClient::create(options);
  if (!api) return report(options, api.error());
  auto answer = api->call(method, path, body, headers);
  if (!answer) return report(options, answer.error());
  if (!options.json) {
    print(*answer);
  } else if (!answer->is_null()) {
    std::cout << *answer << "\n";
  }
  return kOk;
}

int list_and_print(const GlobalOptions& options, const std::string& path, const char* member, std::size_t most,
                   const Print& print) {
  constexpr std::size_t kPage = 1000;
  auto api = ApiClient::create(options);
  if (!api) return report(options, api.error());
  auto items = json::array();
  std::string continuation;
  do {
    const auto limit = most == 0 ? kPage : std::min(kPage, most - items.size());
    auto target = path + (path.find('?') == std::string::npos ? "?" : "&") + "limit=" + std::to_string(limit);
    if (!continuation.empty()) target += "&continuation=" + percent_encode(continuation);
    auto page = api->call("GET", target);
    if (!page) return report(options, page.error());
    for (auto& item : (*page)[member]) items.push_back(std::move(item));
    continuation = page->value("continuation", "");
  } while (!continuation.empty() && (most == 0 || items.size() < most));
  json all{{member, std::move(items)}};
  if (!continuation.empty()) all["continuation"] = continuation;
  if (options.json) {
    std::cout << all << "\n";
  } else {
    print(all[member]);
  }
  return kOk;
}

Result<std::string> read_file(const std::string& name) {
  std::ifstream opened;
  if (name != "-") opened.open(name);
  std::istream& input = name == "-" ? std::cin : opened;
  if (!input) return fail(ErrorCode::kConfigInvalid, "cannot read " + name);
  return std::string(std::istreambuf_iterator<char>(input), {});
}

TextTable::TextTable(std::vector<std::string> titles) {
  for (auto& title : titles) {
    figures_.push_back(title.starts_with('>'));
    if (figures_.back()) title.erase(0, 1);
  }
  rows_.push_back(std::move(titles));
}

void TextTable::add(std::vector<std::string> row) {
  row.resize(figures_.size());
  rows_.push_back(std::move(row));
}

void TextTable::print(std::ostream& out) const {
  constexpr const char* kGap = "  ";
  std::vector<std::size_t> widths(figures_.size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], utf16_length(row[i]));
  }
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - utf16_length(row[i]), ' ');
      line += (i > 0 ? kGap : "") + (figures_[i] ? padding + row[i] : row[i] + padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << "\n";
  }
}

std::string cell(const json& object, const char* member) {
  const auto found = object.find(member);
  if (found == object.end() || found->is_null()) return {};
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::string time_cell(const json& object, const char* member) {
  const auto text = cell(object, member);
  const auto time = parse_iso8601(text);
  if (!time) return text;
  const auto seconds =
      static_cast<std::time_t>(std::chrono::floor<std::chrono::seconds>(*time).time_since_epoch().count());
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::array<char, 32> shown{};
  return {shown.data(), std::strftime(shown.data(), shown.size(), kLocalTime, &local)};
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
        return text;
      },
      "");
}

std::string readable_duration(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
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
