// Puts a backup into an empty data directory, while no process uses it, and checks backups. All calls block.
#pragma once
#include <filesystem>
#include <functional>

#include "common/backup/manifest.h"

namespace tidemark::backup {

/// In DATA while a restore is under way. No store starts on such a directory.
inline constexpr const char* kRestoringName = "restore.unfinished";

/// Copies everything, and compares it with the sums meanwhile. If it fails, the directory is empty again. What root
/// restores belongs to the owner of the directory.
/// kConfigInvalid: the directory is not empty, or a newer version made the backup; kCorruption: the backup is damaged,
/// and how; kNotFound: it is none.
Result<Manifest> restore(const std::filesystem::path& backup, const std::filesystem::path& data);

/// Reads all of a backup. `found` is told of each file that is missing or damaged.
using TellDamage = std::function<void(const std::string& file, const std::string& what)>;
Result<Manifest> verify(const std::filesystem::path& backup, const TellDamage& found);

}  // namespace tidemark::backup
