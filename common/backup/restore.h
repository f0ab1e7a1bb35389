// Restores a backup into an empty data directory while no process uses it, and checks backups. All calls block.
#pragma once
#include <filesystem>
#include <functional>

#include "common/backup/manifest.h"

namespace tidemark::backup {

/// A file in DATA while a restore is under way. No store starts on such a directory.
inline constexpr const char* kRestoringName = "restore.unfinished";

/// Copies everything and compares it with the sums meanwhile. If it fails, the directory is empty again. Files that
/// root restores belong to the owner of the directory. kConfigInvalid: the directory is not empty, or a newer version
/// made the backup; kCorruption: the backup is damaged, with the details; kNotFound: it is not a backup.
Result<Manifest> restore(const std::filesystem::path& backup, const std::filesystem::path& data);

/// Reads all of a backup. `found` is called for each file that is missing or damaged.
using TellDamage = std::function<void(const std::string& file, const std::string& what)>;
Result<Manifest> verify(const std::filesystem::path& backup, const TellDamage& found);

}  // namespace tidemark::backup
