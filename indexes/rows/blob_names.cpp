#include "indexes/rows/blob_names.h"

#include <cstdio>

#include "common/base/encoding.h"

namespace tidemark::indexes {
namespace {

constexpr std::string_view kNothing = "%";
constexpr std::string_view kDot = "%2E";
constexpr std::size_t kDigits = 16;

std::string segment_of(std::string_view group) {
  if (group.empty()) return std::string(kNothing);
  if (!group.ends_with('.')) return std::string(group);
  return std::string(group.substr(0, group.size() - 1)) + std::string(kDot);
}

std::string group_in(std::string_view segment) {
  if (segment == kNothing) return {};
  if (!segment.ends_with(kDot)) return std::string(segment);
  return std::string(segment.substr(0, segment.size() - kDot.size())) + '.';
}

std::optional<std::uint64_t> number_in(std::string_view digits) {
  const auto bytes = digits.size() == kDigits ? hex_decode(digits) : std::nullopt;
  if (!bytes) return std::nullopt;
  std::uint64_t number = 0;
  for (const char byte : *bytes) number = number << 8 | static_cast<std::uint8_t>(byte);
  return number;
}

}  // namespace

std::string blob_name(std::string_view prefix, const PieceBlob& blob) {
  char ending[2 * kDigits + 3];
  std::snprintf(ending, sizeof ending, "/%016llx-%016llx", static_cast<unsigned long long>(blob.bound),
                static_cast<unsigned long long>(blob.version));
  return std::string(prefix) + segment_of(blob.group) + ending;
}

std::optional<PieceBlob> parse_blob_name(std::string_view prefix, std::string_view name) {
  const auto slash = name.rfind('/');
  if (!name.starts_with(prefix) || slash == std::string_view::npos || slash < prefix.size()) return std::nullopt;
  const auto ending = name.substr(slash + 1);
  if (ending.size() != 2 * kDigits + 1 || ending[kDigits] != '-') return std::nullopt;
  const auto bound = number_in(ending.substr(0, kDigits));
  const auto version = number_in(ending.substr(kDigits + 1));
  if (!bound || !version) return std::nullopt;
  PieceBlob blob{group_in(name.substr(prefix.size(), slash - prefix.size())), *bound, *version};
  return blob_name(prefix, blob) == name ? std::optional(std::move(blob)) : std::nullopt;
}

}  // namespace tidemark::indexes
