// Index tags: which tags are valid, and how a header writes them. Pure. Errors: kTagsTooLarge, kEmptyTagName,
// kDuplicateTagNames, kInvalidTag.
#pragma once
#include <string_view>

#include "blob_store/model/blob.h"
#include "common/base/error.h"

namespace tidemark::blob_store {

inline constexpr std::size_t kMaxTags = 10;
inline constexpr std::size_t kMaxTagKey = 128;
inline constexpr std::size_t kMaxTagValue = 256;

/// Returns the length of the beginning of the text whose characters a key or a value may have.
std::size_t length_of_tag_characters(std::string_view text);
/// Checks the tags and sorts them by key.
Result<Tags> checked_tags(Tags given);
/// Parses x-ms-tags, which is written as a form: a=1&b=2
Result<Tags> parse_tag_header(std::string_view form);
/// Returns null if the blob has no such tag.
const std::string* find_tag(const Tags& tags, std::string_view key);

}  // namespace tidemark::blob_store
