// Rules for names and for the properties of a new blob. Pure. Errors: kInvalidResourceName, kOutOfRangeInput,
// kInvalidMetadata, kEmptyMetadataKey, kMetadataTooLarge, kInvalidUri, kInvalidHeaderValue, those of tags.h.
#pragma once
#include <string>
#include <string_view>

#include "blob_store/model/blob.h"
#include "common/base/error.h"

namespace tidemark::blob_store {

/// The container where storage analytics puts its logs. Users read and delete them. It always exists, and is hidden.
inline constexpr std::string_view kLogContainer = "$logs";

Result<void> check_container_name(std::string_view name);
/// Returns the blob name, or the beginning of one, that a text means: a backslash counts as a slash, as in the service.
std::string blob_name_of(std::string text);
Result<void> check_blob_name(std::string_view name);
Result<void> check_metadata(const Metadata& metadata);
/// Checks that a response can carry the headers.
Result<void> check_content_headers(const ContentHeaders& headers);
/// Checks all parts, and sorts the tags by key.
Result<NewContent> checked(NewContent content);

}  // namespace tidemark::blob_store
