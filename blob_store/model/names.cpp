#include "blob_store/model/names.h"

#include <set>

#include "common/base/encoding.h"
#include "common/base/text.h"

namespace tidemark::blob_store {
namespace {

std::unexpected<Error> wrong_length() {
  return fail(ErrorCode::kOutOfRangeInput, "The specified resource name length is not within the permissible limits.");
}

}  // namespace

Result<void> check_container_name(std::string_view name) {
  if (name == "$root" || name == "$web" || name == kLogContainer) return {};
  if (name.size() < 3 || name.size() > 63) return wrong_length();
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (is_lower(c) || is_digit(c)) continue;
    const bool inner = i > 0 && i + 1 < name.size();
    if (c != '-' || !inner || name[i - 1] == '-') return fail(ErrorCode::kInvalidResourceName);
  }
  return {};
}

Result<void> check_blob_name(std::string_view name) {
  if (name.find('\0') != std::string_view::npos || !is_valid_utf8(name)) return fail(ErrorCode::kInvalidUri);
  if (name.empty() || utf16_length(name) > 1024) return wrong_length();
  return {};
}

Result<void> check_metadata(const Metadata& metadata) {
  std::set<std::string> seen;
  std::size_t bytes = 0;
  for (const auto& [name, value] : metadata) {
    if (name.empty()) return fail(ErrorCode::kEmptyMetadataKey);
    if (is_digit(name[0])) return fail(ErrorCode::kInvalidMetadata);
    for (char c : name) {
      if (!is_letter(c) && !is_digit(c) && c != '_') return fail(ErrorCode::kInvalidMetadata);
    }
    for (char c : value) {
      if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7E) {
        return fail(ErrorCode::kInvalidMetadata);
      }
    }
    if (!seen.insert(to_lower_ascii(name)).second) return fail(ErrorCode::kInvalidMetadata);
    bytes += name.size() + value.size();
  }
  if (bytes > 8192) return fail(ErrorCode::kMetadataTooLarge);
  return {};
}

}  // namespace tidemark::blob_store
