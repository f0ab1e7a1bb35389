// A strict reader of the library's logs: the write-ahead log and the manifest, which have one format.
//
//   log       blocks of 32 KiB, the last one shorter
//   block     records; less than 7 bytes at the end of a block are zeros
//   record    u32 masked CRC-32C of the rest but the length | u16 length | u8 type | u32 number of the log (types 5 to 8
//             alone) | the bytes; little-endian
//
// A log that was being written when its process died may end in the middle of a record, whose write was never
// acknowledged. Any other unreadable record is damage.
#pragma once
#include <rocksdb/env.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "common/base/error.h"

namespace tidemark::kv::detail {

/// Describes the damage in the log, or in its first `size` bytes; nothing if it is intact. `read` is told the number of
/// bytes read, and its error ends the check. kStorageFailure if the log cannot be read.
Result<std::optional<std::string>> check_log(rocksdb::Env& env, const std::filesystem::path& path,
                                             std::optional<std::uint64_t> size,
                                             const std::function<Result<void>(std::uint64_t bytes)>& read = {});

}  // namespace tidemark::kv::detail
