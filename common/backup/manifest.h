// The manifest of a backup, manifest.json, which is written last. Pure but for read_manifest().
//
//   BACKUP/manifest.json     format, program, owner, time, the parts, and the SHA-256 of all that
//   BACKUP/PART.files        a list of files, whose SHA-256 is in the manifest (file_list.h)
//   BACKUP/PART/...          the files, with the same paths as in DATA/PART
//
// A part is the folder of one store's engine.
#pragma once
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/time.h"

namespace tidemark::backup {

/// The format of backups, not of the data in them.
inline constexpr std::uint32_t kBackupFormat = 1;

struct Part {
  std::string name;          // "table"
  std::uint32_t format = 0;  // of the part's data
  std::string list_sha256 = {};
  std::uint64_t files = 0, bytes = 0;
  std::uint64_t new_files = 0, new_bytes = 0;  // those that the previous backup does not have
  std::uint64_t held_us = 0;                   // how long writes were held up
};

struct Manifest {
  std::string program;  // the version that made the backup
  std::string owner;    // the owner of the data directory
  Time made{};
  std::vector<Part> parts;
};

/// The JSON for people and programs; the stored manifest has its SHA-256 besides.
nlohmann::json to_json(const Manifest& manifest);
std::string encode_manifest(const Manifest& manifest);
/// kCorruption if it is damaged; kConfigInvalid if a newer version made it.
Result<Manifest> decode_manifest(std::string_view text);
/// kNotFound if the directory is not a backup.
Result<Manifest> read_manifest(const std::filesystem::path& backup);

}  // namespace tidemark::backup
