// What the service properties of an account say of deleted blobs.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "common/base/error.h"

namespace tidemark::blob_store {

/// For how many days deleted blobs of the account are retained; 0: not at all. `properties`: its document, if it has
/// one.
Result<std::uint32_t> retained_days(const std::optional<std::string>& properties);

}  // namespace tidemark::blob_store
