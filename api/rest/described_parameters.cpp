#include "api/rest/described_parameters.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "common/base/encoding.h"
#include "common/base/query.h"
#include "jobs/spec/names.h"

namespace tidemark::api {
namespace {

using nlohmann::json;

struct Described {
  std::vector<std::string> names;
  bool others = false;  // one of them is an object, whose members may have any name
};

/// Returns "v1/jobs/*/cancel" for "/v1/jobs/{id}/cancel".
std::string pattern_of(std::string_view path) {
  std::string pattern;
  for (path.remove_prefix(1); !path.empty();) {
    const auto segment = path.substr(0, path.find('/'));
    pattern += segment.starts_with('{') ? "*" : segment;
    path.remove_prefix(segment.size());
    if (path.empty()) break;
    pattern += '/';
    path.remove_prefix(1);
  }
  return pattern;
}

void add_parameters(const json& document, const json& item, Described& described) {
  const auto list = item.find("parameters");
  if (list == item.end()) return;
  for (const auto& each : *list) {
    const auto reference = each.find("$ref");
    const auto& parameter =
        reference == each.end() ? each : document.at(json::json_pointer(reference->get<std::string>().substr(1)));
    if (parameter.at("in") != "query") continue;
    if (parameter.at("schema").value("type", "") == "object") {
      described.others = true;
    } else {
      described.names.push_back(parameter.at("name").get<std::string>());
    }
  }
}

/// Reads the described parameters, by pattern and method.
std::map<std::pair<std::string, std::string>, Described> read_description() {
  std::map<std::pair<std::string, std::string>, Described> out;
  const auto document = json::parse(openapi_document());
  for (const auto& [path, item] : document.at("paths").items()) {
    for (const auto& [method, operation] : item.items()) {
      if (method == "parameters") continue;
      auto& described = out[{pattern_of(path), method}];
      add_parameters(document, item, described);
      add_parameters(document, operation, described);
    }
  }
  return out;
}

const Described& description_of(const Route& route) {
  static const auto kAll = read_description();
  return kAll.at({std::string(route.pattern), to_lower_ascii(route.method)});
}

}  // namespace

Result<void> check_parameters(const Route& route, const http::Request& request) {
  if (request.query.empty()) return {};
  const auto given = QueryParameters::parse(request.query);
  if (!given) return fail(ErrorCode::kInvalidQueryParameterValue, "The query string has a broken percent escape.");
  const auto& described = description_of(route);
  for (const auto& [name, value] : *given) {
    if (described.others || std::ranges::find(described.names, name) != described.names.end()) continue;
    const auto known = described.names.empty() ? std::string("none") : jobs::joined(described.names);
    return fail(ErrorCode::kInvalidQueryParameterValue,
                "Unknown query parameter \"" + std::string(name) + "\"; known here: " + known + ".");
  }
  return {};
}

}  // namespace tidemark::api
