#include "common/http/http.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "common/base/protocol_text.h"

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
    at = std::ranges::transform(value, at, [](char c) { return is_field_character(c) ? c : ' '; }).out;
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

std::pair<std::string_view, std::string_view> HeaderLines::Iterator::operator*() const {
  const auto line = rest_.substr(0, rest_.find('\r'));
  const auto colon = line.find(": ");
  return {line.substr(0, colon), line.substr(colon + 2)};
}

void Response::set(std::string_view name, std::string_view value) { headers.add(name, value); }

}  // namespace tidemark::http
