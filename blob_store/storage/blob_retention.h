// The retention of deleted blobs that the service properties of an account set.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "common/base/error.h"

namespace tidemark::blob_store {

/// Returns for how many days deleted blobs of the account are retained; 0: not at all. `properties`: the document of
/// the account, if it has one.
Result<std::uint32_t> retained_days(const std::optional<std::string>& properties);

}  // namespace tidemark::blob_store
