#include "table_store/model/group_text.h"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "common/base/encoding.h"
#include "common/base/text.h"
#include "table_store/model/limits.h"

namespace tidemark::table_store {
namespace {

std::string whole_number(std::int64_t value) {
  constexpr std::uint64_t kBeyondNegative = 10'000'000'000'000'000'000ULL;
  const auto digits = static_cast<std::uint64_t>(value) + (value < 0 ? kBeyondNegative : 0);
  char text[24];
  std::snprintf(text, sizeof text, "%c%019llu", value < 0 ? 'n' : 'p', static_cast<unsigned long long>(digits));
  return text;
}

std::string floating_number(double value) {
  constexpr std::uint64_t kSign = 1ULL << 63;
  const auto bits = std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value);
  char text[24];
  std::snprintf(text, sizeof text, "d%016llx",
                static_cast<unsigned long long>((bits & kSign) != 0 ? ~bits : bits | kSign));
  return text;
}

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_time(std::string_view text) {
  constexpr std::size_t kLength = 28;
  const auto time = text.size() == kLength ? parse_iso8601(text) : std::nullopt;
  return time && to_iso8601_7digits(*time) == text;
}

bool is_guid(std::string_view text) {
  constexpr std::size_t kLength = 36;
  const auto guid = text.size() == kLength ? parse_guid(text) : std::nullopt;
  return guid && guid_text(*guid) == text;
}

std::string bounded(std::string text) {
  if (utf16_length(text) <= kMaxGroupUnits) return text;
  return "%sha256:" + hex_encode(sha256(text));
}

}  // namespace

ValueType type_in_text(std::string_view text) {
  constexpr std::size_t kWholeDigits = 19;
  constexpr std::size_t kDoubleDigits = 16;
  const auto rest = text.substr(text.empty() ? 0 : 1);
  const bool digits = std::ranges::all_of(rest, [](char c) { return c >= '0' && c <= '9'; });
  const char first = text.empty() ? '\0' : text.front();
  if ((first == 'p' || first == 'n') && rest.size() == kWholeDigits && digits) return ValueType::kWhole;
  if (first == 'd' && rest.size() == kDoubleDigits && is_hex(rest)) return ValueType::kDouble;
  if (text.starts_with("%x")) return ValueType::kBinary;
  if (text == "true" || text == "false") return ValueType::kBoolean;
  if (is_time(text)) return ValueType::kTime;
  return is_guid(text) ? ValueType::kGuid : ValueType::kString;
}

std::string escape_key_text(std::string_view value) {
  std::string out;
  while (!value.empty()) {
    const auto escaped = value.front() == '%' ? 1 : forbidden_key_bytes(value);
    out += escaped > 0 ? percent_encode(value.substr(0, escaped)) : std::string(1, value.front());
    value.remove_prefix(std::max<std::size_t>(escaped, 1));
  }
  return out;
}

std::string string_text(std::string_view value) {
  std::string out;
  for (const char c : escape_key_text(value)) out += c == ',' ? std::string("%2C") : std::string(1, c);
  return out;
}

std::string_view without_mark(std::string_view text) {
  if (text.ends_with('%')) text.remove_suffix(1);
  return text;
}

std::string key_text(const Value& value) {
  struct Text {
    std::string operator()(const std::string& v) const {
      auto text = string_text(v);
      if (type_in_text(text) != ValueType::kString) text += '%';
      return text;
    }
    std::string operator()(std::int32_t v) const { return whole_number(v); }
    std::string operator()(std::int64_t v) const { return whole_number(v); }
    std::string operator()(double v) const { return floating_number(v); }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(const Time& v) const { return to_iso8601_7digits(v); }
    std::string operator()(const Guid& v) const { return guid_text(v); }
    std::string operator()(const Binary& v) const { return "%x" + hex_encode(v.bytes); }
  };
  return std::visit(Text{}, value);
}

std::string join_values(const std::vector<std::string>& texts) {
  std::string joined;
  for (std::size_t i = 0; i < texts.size(); ++i) joined += (i > 0 ? "," : "") + texts[i];
  return bounded(std::move(joined));
}

std::optional<std::string> group_of(const std::vector<std::string>& by, std::string_view partition_key,
                                    std::string_view row_key, const std::vector<Property>& properties) {
  std::vector<std::string> texts;
  for (const auto& name : by) {
    if (name == "PartitionKey" || name == "RowKey") {
      texts.push_back(key_text(std::string(name == "RowKey" ? row_key : partition_key)));
      continue;
    }
    const auto found = std::ranges::find(properties, name, &Property::name);
    if (found == properties.end()) return std::nullopt;
    texts.push_back(key_text(found->value));
  }
  return join_values(texts);
}

}  // namespace tidemark::table_store
