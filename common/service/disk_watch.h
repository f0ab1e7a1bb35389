// Watches the disk of a store. While little space is left, the engines refuse writes, so that the disk is never quite
// full; reads go on, and writes resume once there is space again. After a write that the disk failed, the content of
// the database is uncertain until it is opened again: once the disk takes writes, the watch asks the store to reopen
// it. The same holds for rows in PostgreSQL, once the database answers.
#pragma once
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "common/shards/stored_shards.h"

namespace tidemark::service {

class DiskWatch {
 public:
  struct Options {
    std::vector<std::filesystem::path> directories;  // of the database, and of the files beside it
    std::uint64_t min_free_bytes = 0;                // 0: no limit
    /// An earlier watch has restarted the store: do not restart it again at once.
    bool restarted = false;
    /// Tells whether a failed engine can be opened again; empty: it can once the disk takes writes.
    std::function<bool()> recovered = {};
    std::chrono::milliseconds interval{500};
  };

  /// Calls `reopen` at most once, on the watch's thread.
  DiskWatch(shards::StoredShards& shards, Options options, std::function<void()> reopen);

 private:
  void run(const std::stop_token& stop);
  void look_for_space();
  [[nodiscard]] const char* kind() const;
  [[nodiscard]] bool recovered() const;
  [[nodiscard]] bool takes_writes() const;

  shards::StoredShards& shards_;
  const Options options_;
  const std::function<void()> reopen_;
  bool short_of_space_ = false;
  bool failed_ = false;
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;
};

}  // namespace tidemark::service
