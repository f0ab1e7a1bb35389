// An engine whose data is in files, with the functions that copies and checks of the data need beside transactions.
// Thread safe, except that one thread at a time holds writes. All calls block, some for as long as the disk takes.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/kv/engine.h"

namespace tidemark::kv {

struct StoredFile {
  enum class Kind : std::uint8_t { kRows, kValues, kLog, kManifest };
  Kind kind = Kind::kRows;
  std::filesystem::path path;
  std::uint64_t size = 0;  // of a log, which may grow: the size so far
  std::string checksum;    // of the whole file; empty if a version that did not note it wrote the file
};

class StoredEngine : public Engine {
 public:
  /// Writes data that is only in memory and in the log to files, so that a copy made soon after has a short log.
  virtual Result<void> flush() = 0;
  /// Returns once nothing is being written. From then on transactions wait, and reads go on, until resume_writes() is
  /// called or `at_most` has passed. kServerBusy if writes are held already.
  virtual Result<void> hold_writes(std::chrono::milliseconds at_most) = 0;
  /// Returns how long writes were held. kOperationTimedOut if the hold was over before, or there was none.
  virtual Result<std::chrono::microseconds> resume_writes() = 0;
  /// Makes `directory`, which must not exist, a copy of the present database. Files that never change are hard links if
  /// it is on the same file system.
  virtual Result<void> checkpoint(const std::filesystem::path& directory) = 0;
  /// Returns the approximate size of a range in bytes, including deleted rows that are still in the files; nothing if
  /// that is unknown without reading the range. Costs some microseconds.
  [[nodiscard]] virtual std::optional<std::uint64_t> estimate_bytes(const KeyRange& range) const = 0;
  /// Returns the files of the present database.
  [[nodiscard]] virtual Result<std::vector<StoredFile>> files() const = 0;
};

}  // namespace tidemark::kv
