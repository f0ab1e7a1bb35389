#include "common/http/http.h"

#include "common/base/encoding.h"

namespace tidemark::http {

std::optional<std::string_view> Request::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (iequals_ascii(key, name)) return value;
  }
  return std::nullopt;
}

void Response::set(std::string_view name, std::string_view value) { headers.emplace_back(name, value); }

std::optional<std::vector<std::pair<std::string, std::string>>> parse_query(std::string_view raw_query) {
  std::vector<std::pair<std::string, std::string>> parameters;
  while (!raw_query.empty()) {
    const auto end = raw_query.find('&');
    auto item = raw_query.substr(0, end);
    raw_query.remove_prefix(end == std::string_view::npos ? raw_query.size() : end + 1);
    if (item.empty()) continue;
    const auto equals = item.find('=');
    auto name = percent_decode(item.substr(0, equals), true);
    auto value = equals == std::string_view::npos ? std::optional<std::string>("")
                                                  : percent_decode(item.substr(equals + 1), true);
    if (!name || !value) return std::nullopt;
    parameters.emplace_back(std::move(*name), std::move(*value));
  }
  return parameters;
}

}  // namespace tidemark::http
