// What a data directory says about itself, so that none is misread or mixed up:
//
//   DATA/owner                   the id of the stack whose data it is, made by the first store that starts on it
//   DATA/STORE/tidemark.json     {"store","format","owner","sha256"}: whose folder it is and in which format
//
// A folder without a stamp was made before there were stamps: it gets one, once the store has found that it can read
// it. All calls block. kConfigInvalid with a message that says what to do; kCorruption.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "common/base/error.h"

namespace tidemark::service {

inline constexpr const char* kStampName = "tidemark.json";

/// What this program is and reads.
struct StampOf {
  std::string store;         // "table"
  std::uint32_t format = 1;  // what it writes; the only one that it reads
};

struct FolderStamp {
  std::string owner;
  bool stamped = false;  // false: there is no stamp yet
};

/// Before anything in DATA/STORE is touched. Makes DATA/owner if it is not there and `make` is true.
Result<FolderStamp> check_folder(const std::filesystem::path& data, const StampOf& expected, bool make = true);
/// Once the store has found that it can read what is there.
Result<void> stamp_folder(const std::filesystem::path& data, const StampOf& stamp, const std::string& owner);

}  // namespace tidemark::service
