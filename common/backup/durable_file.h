// Files that are whole on the disk, or not there. All calls block. kStorageFailure with a message that names the file
// and the cause, for whoever started the program or sent the request.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "common/base/descriptor.h"
#include "common/base/error.h"

namespace tidemark::backup {

/// kStorageFailure: "WHAT PATH: cause", from errno or `code`.
std::unexpected<Error> file_error(std::string_view what, const std::filesystem::path& path, int code);

/// Replaces the file at once; mode 0600.
Result<void> write_file(const std::filesystem::path& path, std::string_view bytes);
/// The same, unless there is such a file: then that one stays.
Result<void> write_file_once(const std::filesystem::path& path, std::string_view bytes);
/// kNotFound if there is none, kCorruption if it has more than `most` bytes.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t most);
/// Its entries are durable.
Result<void> sync_directory(const std::filesystem::path& directory);
/// Mode 0700, with its parents.
Result<void> make_directories(const std::filesystem::path& directory);

/// Gets what was read, in order.
using TakeBytes = std::function<Result<void>(std::string_view bytes)>;
/// Reads a file from its beginning to its end; the SHA-256 of it, in hex.
Result<std::string> sum_of_file(const Descriptor& file, const std::filesystem::path& path, const TakeBytes& take = {});
/// Copies a file, which is durable then; the SHA-256 of what was copied. `to` must not exist.
Result<std::string> copy_durably(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace tidemark::backup
