// Files that are either whole on the disk or absent. All calls block. The message of kStorageFailure names the file and
// the cause, for the person who started the program or sent the request.
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

/// Replaces the file in one step; mode 0600.
Result<void> write_file(const std::filesystem::path& path, std::string_view bytes);
/// Does the same unless the file exists; an existing file stays.
Result<void> write_file_once(const std::filesystem::path& path, std::string_view bytes);
/// kNotFound if there is no such file, kCorruption if it has more than `most` bytes.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t most);
/// Makes the directory's entries durable.
Result<void> sync_directory(const std::filesystem::path& directory);
/// Makes the directory and its parents with mode 0700.
Result<void> make_directories(const std::filesystem::path& directory);

/// Receives the bytes of a file, in order.
using TakeBytes = std::function<Result<void>(std::string_view bytes)>;
/// Reads a file from beginning to end, and returns its SHA-256 in hex.
Result<std::string> sum_of_file(const Descriptor& file, const std::filesystem::path& path, const TakeBytes& take = {});
/// Makes a durable copy of a file, and returns the SHA-256 of the copied bytes. `to` must not exist.
Result<std::string> copy_durably(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace tidemark::backup
