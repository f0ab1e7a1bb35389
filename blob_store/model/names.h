// Rules for names and metadata. Pure. Errors: kInvalidResourceName, kOutOfRangeInput, kInvalidMetadata,
// kEmptyMetadataKey, kMetadataTooLarge, kInvalidUri.
#pragma once
#include <string_view>

#include "blob_store/model/blob.h"
#include "common/base/error.h"

namespace tidemark::blob_store {

Result<void> check_container_name(std::string_view name);
Result<void> check_blob_name(std::string_view name);
Result<void> check_metadata(const Metadata& metadata);

}  // namespace tidemark::blob_store
