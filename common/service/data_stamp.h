// What a data directory says about itself, and a database that has the rows instead, so that none is misread or mixed
// up:
//
//   DATA/owner                   the id of the stack whose data it is, made by the first store that starts on it
//   DATA/STORE/tidemark.json     {"store","format","owner","sha256"}: whose folder it is and in which format; and
//                                "engine", if that is not rocksdb; "shards" and "placement", the key of the hash that
//                                divides names over them, if there is more than one shard
//
// The same document is the stamp of the tables in a database.
//
// A folder without a stamp was made before there were stamps: it gets one, once the store has found that it can read
// it. All calls block. kConfigInvalid with a message that says what to do; kCorruption.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "common/base/error.h"
#include "common/kv/shards.h"

namespace tidemark::service {

inline constexpr const char* kStampName = "tidemark.json";

/// What this program is and reads.
struct StampOf {
  std::string store;         // "table"
  std::uint32_t format = 1;  // what it writes; the only one that it reads
  std::string engine = "rocksdb";
  std::size_t shards = 0;  // 0: as many as it has; one, if it is new
};

struct FolderStamp {
  std::string owner;
  bool stamped = false;  // false: there is no stamp yet
  kv::Placement placement = {};
};

/// Before anything in DATA/STORE is touched. Makes DATA/owner if it is not there and `make` is true: of the stamp, of
/// what is `suggested`, or of a new one.
Result<FolderStamp> check_folder(const std::filesystem::path& data, const StampOf& expected, bool make = true,
                                 std::optional<FolderStamp> suggested = {});
/// Once the store has found that it can read what is there.
Result<void> stamp_folder(const std::filesystem::path& data, const StampOf& stamp, const FolderStamp& found);

std::string make_stamp(const StampOf& stamp, const FolderStamp& found);
/// Whose it is, and how it is divided. `where`: what has the stamp, for people.
Result<FolderStamp> check_stamp(const std::string& text, const std::string& where, const StampOf& expected);

}  // namespace tidemark::service
