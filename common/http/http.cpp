#include "common/http/http.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "common/base/query.h"

namespace tidemark::http {

std::optional<std::string_view> Request::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (iequals_ascii(key, name)) return value;
  }
  return std::nullopt;
}

void HeaderLines::add(std::string_view name, std::string_view value) {
  constexpr std::size_t kUsualHead = 448;
  if (text_.empty()) text_.reserve(kUsualHead);
  const auto before = text_.size();
  text_.resize_and_overwrite(before + name.size() + value.size() + 4, [&](char* text, std::size_t) {
    char* at = std::copy(name.begin(), name.end(), text + before);
    *at++ = ':';
    *at++ = ' ';
    at = std::transform(value.begin(), value.end(), at,
                        [](char c) { return c == '\r' || c == '\n' || c == '\0' ? ' ' : c; });
    *at++ = '\r';
    *at++ = '\n';
    return static_cast<std::size_t>(at - text);
  });
}

std::optional<std::string_view> HeaderLines::find(std::string_view name) const {
  for (const auto [key, value] : *this) {
    if (iequals_ascii(key, name)) return value;
  }
  return std::nullopt;
}

HeaderLines::Iterator HeaderLines::begin() const { return Iterator(text_); }
HeaderLines::Iterator HeaderLines::end() const { return Iterator({}); }

HeaderLines::value_type HeaderLines::Iterator::operator*() const {
  const auto line = rest_.substr(0, rest_.find('\r'));
  const auto colon = line.find(": ");
  return {line.substr(0, colon), line.substr(colon + 2)};
}

HeaderLines::Iterator& HeaderLines::Iterator::operator++() {
  rest_.remove_prefix(rest_.find('\n') + 1);
  return *this;
}

void Response::set(std::string_view name, std::string_view value) { headers.add(name, value); }

std::optional<std::vector<std::pair<std::string, std::string>>> parse_query(std::string_view raw_query) {
  const auto parsed = QueryParameters::parse(raw_query);
  if (!parsed) return std::nullopt;
  return std::vector<std::pair<std::string, std::string>>(parsed->begin(), parsed->end());
}

}  // namespace tidemark::http
