// Rules for names and for what a blob is made with. Pure. Errors: kInvalidResourceName, kOutOfRangeInput,
// kInvalidMetadata, kEmptyMetadataKey, kMetadataTooLarge, kInvalidUri, kInvalidHeaderValue, those of tags.h.
#pragma once
#include <string>
#include <string_view>

#include "blob_store/model/blob.h"
#include "common/base/error.h"

namespace tidemark::blob_store {

/// Where storage analytics puts its logs. Users read and delete them; the container is there for good, and hidden.
inline constexpr std::string_view kLogContainer = "$logs";

Result<void> check_container_name(std::string_view name);
/// The name of the blob that a text means, or the beginning of one: a backslash is a slash, as in the service.
std::string blob_name_of(std::string text);
Result<void> check_blob_name(std::string_view name);
Result<void> check_metadata(const Metadata& metadata);
/// Headers that an answer can have.
Result<void> check_content_headers(const ContentHeaders& headers);
/// All of it, with the tags in the order of their keys.
Result<NewContent> checked(NewContent content);

}  // namespace tidemark::blob_store
