// Watches the disk of a store. While little space is left, the engines refuse writes, so that the disk is never quite
// full; reads go on, and so do writes once there is space again. After a write that the disk failed, nobody can tell
// what it holds until the database is opened again: once the disk takes writes, the store is asked to do that. So it is
// with rows in PostgreSQL, once that answers.
#pragma once
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "common/kv/stored_shards.h"

namespace tidemark::service {

class DiskWatch {
 public:
  struct Options {
    std::vector<std::filesystem::path> directories;  // of the database, and of files beside it
    std::uint64_t min_free_bytes = 0;                // 0: any
    /// By an earlier watch: then it is not asked to restart again at once.
    bool restarted = false;
    /// Whether a failed engine can be opened again; empty: if the disk takes writes.
    std::function<bool()> recovered = {};
    std::chrono::milliseconds interval{500};
  };

  /// `reopen` is called at most once, on the watch's thread.
  DiskWatch(kv::StoredShards& shards, Options options, std::function<void()> reopen);

 private:
  void run(const std::stop_token& stop);
  void look_for_space();
  [[nodiscard]] const char* kind() const;
  [[nodiscard]] bool recovered() const;
  [[nodiscard]] bool takes_writes() const;

  kv::StoredShards& shards_;
  const Options options_;
  const std::function<void()> reopen_;
  bool short_of_space_ = false;
  bool failed_ = false;
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;
};

}  // namespace tidemark::service
