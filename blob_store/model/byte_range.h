// The Range header as the blob service reads it. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/error.h"

namespace tidemark::blob_store {

struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

/// Parses "bytes=a-b" or "bytes=a-", and limits the end to `size`. Other forms (suffix, reversed, several ranges) are
/// ignored, as in the service: the result is empty. kInvalidRange if the range begins at or after the end.
Result<std::optional<ByteRange>> parse_range(std::string_view header, std::uint64_t size);

}  // namespace tidemark::blob_store
