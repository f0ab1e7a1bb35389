#include "blob_store/model/names.h"

#include <algorithm>
#include <set>

#include "blob_store/model/tags.h"
#include "common/base/encoding.h"
#include "common/base/protocol_text.h"
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

std::string blob_name_of(std::string text) {
  std::ranges::replace(text, '\\', '/');
  return text;
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

Result<void> check_content_headers(const ContentHeaders& headers) {
  const std::pair<const char*, const std::string*> all[] = {
      {"Content-Type", &headers.type},           {"Content-Encoding", &headers.encoding},
      {"Content-Language", &headers.language},   {"Content-Disposition", &headers.disposition},
      {"Cache-Control", &headers.cache_control}, {"Content-MD5", &headers.md5}};
  for (const auto& [name, value] : all) {
    if (is_field_value(*value)) continue;
    auto error = make_error(ErrorCode::kInvalidHeaderValue,
                            std::string("The value of ") + name +
                                " cannot be sent in a header: leave out control characters and blanks at its ends.");
    error.fields = {{"HeaderName", name}, {"HeaderValue", *value}};
    return fail(std::move(error));
  }
  return {};
}

Result<NewContent> checked(NewContent content) {
  TRY(check_content_headers(content.headers));
  TRY(check_metadata(content.metadata));
  content.tags = TRY(checked_tags(std::move(content.tags)));
  return content;
}

}  // namespace tidemark::blob_store
