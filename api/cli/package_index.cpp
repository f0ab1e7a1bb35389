#include "api/cli/package_index.h"

#include <algorithm>
#include <set>
#include <string>

#include "common/base/encoding.h"
#include "common/base/numbers.h"
#include "common/base/text.h"

namespace tidemark::cli {
namespace {

const std::set<std::string> kNumbers{"Installed-Size", "Size"};
const std::set<std::string> kTruths{"Essential", "Important", "Build-Essential"};
constexpr std::size_t kMaxTextBytes = 30'000;  // well inside the 64 KiB of a string property

std::string without_dashes(std::string name) {
  std::erase(name, '-');
  return name;
}

std::string as_key(std::string text) {
  std::replace(text.begin(), text.end(), '/', '-');
  return text;
}

/// Returns www.example.org for https://www.example.org:443/path.
std::string host_of(const std::string& url) {
  const auto scheme = url.find("://");
  if (scheme == std::string::npos) return {};
  const auto begin = scheme + 3;
  return to_lower_ascii(url.substr(begin, url.find_first_of("/:?#", begin) - begin));
}

void add_field(nlohmann::json& entity, const std::string& name, std::string value) {
  if (name == "Package") {
    entity["RowKey"] = as_key(value);
  } else if (name == "Section") {
    entity["PartitionKey"] = as_key(value);
  }
  if (name == "Homepage") {
    if (auto host = host_of(value); !host.empty()) entity["HomepageHost"] = std::move(host);
  }
  const auto property = without_dashes(name);
  if (kNumbers.contains(name) && parse_number<std::int64_t>(value, 0, INT64_MAX)) {
    entity[property + "@odata.type"] = "Edm.Int64";
    entity[property] = value;
  } else if (kTruths.contains(name)) {
    entity[property] = value == "yes";
  } else {
    value.resize(beginning_of(value, kMaxTextBytes).size());
    entity[property] = std::move(value);
  }
}

}  // namespace

bool read_package_index(std::istream& input, const std::function<bool(nlohmann::json)>& each) {
  nlohmann::json entity = nlohmann::json::object();
  std::string name, value, line;
  auto end_field = [&] {
    if (!name.empty()) add_field(entity, name, std::move(value));
    name.clear();
    value.clear();
  };
  auto end_paragraph = [&] {
    end_field();
    auto complete = std::exchange(entity, nlohmann::json::object());
    if (!complete.contains("RowKey")) return true;
    if (!complete.contains("PartitionKey")) complete["PartitionKey"] = "unknown";
    return each(std::move(complete));
  };
  while (std::getline(input, line)) {
    if (line.empty()) {
      if (!end_paragraph()) return false;
    } else if (line.front() == ' ' || line.front() == '\t') {
      value += "\n" + line.substr(1);
    } else if (const auto colon = line.find(':'); colon != std::string::npos) {
      end_field();
      name = line.substr(0, colon);
      const auto begin = line.find_first_not_of(' ', colon + 1);
      value = begin == std::string::npos ? "" : line.substr(begin);
    }
  }
  return end_paragraph();
}

}  // namespace tidemark::cli
