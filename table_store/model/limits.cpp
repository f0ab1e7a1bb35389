#include "table_store/model/limits.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "common/base/text.h"

namespace tidemark::table_store {
namespace {

using namespace std::chrono;
constexpr Time kEarliest = sys_days{year{1601} / January / 1};
constexpr Time kPastLatest = sys_days{year{10000} / January / 1};

std::size_t size_of(const Value& value) {
  // In the order of Value; String and Binary also take their length.
  constexpr std::size_t kSizes[] = {4, 4, 8, 8, 1, 8, 16, 4};
  static_assert(std::size(kSizes) == std::variant_size_v<Value>);
  auto size = kSizes[value.index()];
  if (const auto* text = std::get_if<std::string>(&value)) size += 2 * utf16_length(*text);
  if (const auto* binary = std::get_if<Binary>(&value)) size += binary->bytes.size();
  return size;
}

}  // namespace

Result<void> check_table_name(std::string_view name) {
  const bool clean = !name.empty() && is_letter(name.front()) &&
                     std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); });
  if (!clean || iequals_ascii(name, "tables")) return fail(ErrorCode::kInvalidResourceName);
  if (name.size() < 3 || name.size() > 63) {
    return fail(ErrorCode::kOutOfRangeInput,
                "The specified resource name length is not within the permissible limits.");
  }
  return {};
}

bool is_metrics_table(std::string_view name) {
  constexpr std::string_view kPrefix = "$Metrics";
  return name.size() <= 63 && iequals_ascii(name.substr(0, kPrefix.size()), kPrefix) &&
         std::all_of(name.begin() + 1, name.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

std::size_t forbidden_key_bytes(std::string_view text) {
  const auto c = static_cast<unsigned char>(text.front());
  if (c == '/' || c == '\\' || c == '#' || c == '?' || c < 0x20 || c == 0x7F) return 1;
  // U+0080 to U+009F in UTF-8.
  return c == 0xC2 && text.size() > 1 && static_cast<unsigned char>(text[1]) < 0xA0 ? 2 : 0;
}

Result<void> check_key(std::string_view key) {
  if (!is_valid_utf8(key) || utf16_length(key) > kMaxKeyUnits) return fail(ErrorCode::kOutOfRangeInput);
  for (auto rest = key; !rest.empty(); rest.remove_prefix(1)) {
    if (forbidden_key_bytes(rest) > 0) return fail(ErrorCode::kOutOfRangeInput);
  }
  return {};
}

bool is_system_property(std::string_view name) {
  return name == "PartitionKey" || name == "RowKey" || name == "Timestamp";
}

Result<void> check_property_name(std::string_view name) {
  if (!is_valid_utf8(name) || name.empty() || is_digit(name.front())) return fail(ErrorCode::kPropertyNameInvalid);
  for (const char c : name) {
    if (!is_letter(c) && !is_digit(c) && c != '_' && static_cast<unsigned char>(c) < 0x80) {
      return fail(ErrorCode::kPropertyNameInvalid);
    }
  }
  if (utf16_length(name) > kMaxPropertyNameUnits) return fail(ErrorCode::kPropertyNameTooLong);
  if (is_system_property(name)) return fail(ErrorCode::kPropertyNameInvalid);
  return {};
}

bool can_hold(Time time) { return time >= kEarliest && time < kPastLatest; }

Result<void> check_value(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    if (!is_valid_utf8(*text)) return fail(ErrorCode::kInvalidInput);
    if (utf16_length(*text) > kMaxStringUnits) return fail(ErrorCode::kPropertyValueTooLarge);
  } else if (const auto* binary = std::get_if<Binary>(&value)) {
    if (binary->bytes.size() > kMaxBinaryBytes) return fail(ErrorCode::kPropertyValueTooLarge);
  } else if (const auto* time = std::get_if<Time>(&value)) {
    if (!can_hold(*time)) return fail(ErrorCode::kOutOfRangeInput);
  }
  return {};
}

Result<void> check_entity_size(std::string_view partition_key, std::string_view row_key,
                               const std::vector<Property>& properties) {
  if (properties.size() > kMaxProperties) return fail(ErrorCode::kTooManyProperties);
  std::size_t size = 4 + 2 * (utf16_length(partition_key) + utf16_length(row_key));
  for (const auto& property : properties) size += 8 + 2 * utf16_length(property.name) + size_of(property.value);
  if (size > kMaxEntityBytes) return fail(ErrorCode::kEntityTooLarge);
  return {};
}

Result<void> check_properties(std::string_view partition_key, std::string_view row_key,
                              const std::vector<Property>& properties) {
  if (properties.size() > kMaxProperties) return fail(ErrorCode::kTooManyProperties);
  std::vector<std::string_view> names;
  names.reserve(properties.size());
  for (const auto& property : properties) {
    TRY(check_property_name(property.name));
    TRY(check_value(property.value));
    names.push_back(property.name);
  }
  std::sort(names.begin(), names.end());
  if (std::adjacent_find(names.begin(), names.end()) != names.end()) {
    return fail(ErrorCode::kDuplicatePropertiesSpecified);
  }
  return check_entity_size(partition_key, row_key, properties);
}

Result<void> check_selection(const Selection& selection) {
  if (!selection || (selection->size() <= kMaxProperties && std::ranges::is_sorted(*selection))) return {};
  return fail(ErrorCode::kInvalidInput, "A selection has at most 252 names, in order.");
}

}  // namespace tidemark::table_store
