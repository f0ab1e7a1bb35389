// Rules for names and metadata. Pure. Errors: kInvalidResourceName, kOutOfRangeInput, kInvalidMetadata,
// kEmptyMetadataKey, kMetadataTooLarge, kInvalidUri.
#pragma once
#include <string_view>

#include "blob_store/model/blob.h"
#include "common/base/error.h"

namespace tidemark::blob_store {

/// Where storage analytics puts its logs. Users read and delete them; the container is there for good, and hidden.
inline constexpr std::string_view kLogContainer = "$logs";

Result<void> check_container_name(std::string_view name);
Result<void> check_blob_name(std::string_view name);
Result<void> check_metadata(const Metadata& metadata);

}  // namespace tidemark::blob_store
