// What a backup says about itself: manifest.json, which is written last. Pure but for read_manifest().
//
//   BACKUP/manifest.json     format, program, owner, time, the parts, and the SHA-256 of all that
//   BACKUP/PART.files        a list of files, whose SHA-256 is in the manifest (file_list.h)
//   BACKUP/PART/...          the files, as they are to lie in DATA/PART
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

/// Of backups, not of the data within.
inline constexpr std::uint32_t kBackupFormat = 1;

struct Part {
  std::string name;          // "table"
  std::uint32_t format = 0;  // of its data
  std::string list_sha256 = {};
  std::uint64_t files = 0, bytes = 0;
  std::uint64_t new_files = 0, new_bytes = 0;  // those that the backup before does not have
  std::uint64_t held_us = 0;                   // how long writes waited
};

struct Manifest {
  std::string program;  // the version that made it
  std::string owner;    // of the data directory
  Time made{};
  std::vector<Part> parts;
};

/// For people and programs; also what the manifest has beside its own sum.
nlohmann::json to_json(const Manifest& manifest);
std::string encode_manifest(const Manifest& manifest);
/// kCorruption if it is damaged; kConfigInvalid if a newer version made it.
Result<Manifest> decode_manifest(std::string_view text);
/// kNotFound if the directory is no backup.
Result<Manifest> read_manifest(const std::filesystem::path& backup);

}  // namespace tidemark::backup
