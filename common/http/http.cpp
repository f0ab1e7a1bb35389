#include "common/http/http.h"

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
  text_.append(name).append(": ");
  const auto begin = text_.size();
  text_.append(value);
  for (auto at = begin; at < text_.size(); ++at) {
    const char c = text_[at];
    if (c == '\r' || c == '\n' || c == '\0') text_[at] = ' ';
  }
  text_.append("\r\n");
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
