// The stamp of a data directory, and of a database that has the rows instead. It says whose data this is and in which
// format, so that no data is misread or mixed up:
//
//   DATA/owner                   the id of the stack that owns the data, made by the first store that starts on it
//   DATA/STORE/tidemark.json     {"store","format","owner","sha256"}: the owner and the format of the folder; and
//                                "engine", if that is not rocksdb; "shards" and "placement", the key of the hash that
//                                divides names over them, if there is more than one shard
//
// The same document is the stamp of the tables in a database.
//
// A folder without a stamp was made before there were stamps: it gets one once the store has found that it can read the
// folder. All calls block. They fail with kConfigInvalid and a message that says how to mend it, or with kCorruption.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "common/base/error.h"
#include "common/shards/shards.h"

namespace tidemark::service {

inline constexpr const char* kStampName = "tidemark.json";

/// The stamp that this program expects and writes.
struct StampOf {
  std::string store;         // "table"
  std::uint32_t format = 1;  // the format that it writes, and the only one that it reads
  std::string engine = "rocksdb";
  std::size_t shards = 0;  // 0: as many as the folder has, or one if it is new
};

struct FolderStamp {
  std::string owner;
  bool stamped = false;  // false: there is no stamp yet
  shards::Placement placement = {};
};

/// Checks the folder before anything in DATA/STORE is touched. If `make` is true and DATA/owner is missing, makes it
/// with the owner in the stamp, else with the `suggested` one, else with a new one.
Result<FolderStamp> check_folder(const std::filesystem::path& data, const StampOf& expected, bool make = true,
                                 std::optional<FolderStamp> suggested = {});
/// Writes the stamp once the store has found that it can read the data.
Result<void> stamp_folder(const std::filesystem::path& data, const StampOf& stamp, const FolderStamp& found);

std::string make_stamp(const StampOf& stamp, const FolderStamp& found);
/// Reads the owner and the placement from a stamp. `where` names the stamped folder or database in messages.
Result<FolderStamp> check_stamp(const std::string& text, const std::string& where, const StampOf& expected);

}  // namespace tidemark::service
