// Makes backups of all stores at one cut (common/service/maintenance_calls.h). One at a time; the state of the last one
// is kept in memory, since what counts is on the disk. Thread safe.
#pragma once
#include <boost/asio/thread_pool.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/backup/backup_folder.h"
#include "common/base/async.h"
#include "common/rpc/transport.h"
#include "common/service/maintenance_calls.h"

namespace tidemark::api {

struct StoreLink {
  std::string name;  // "table"
  rpc::Transport* link = nullptr;
};

struct BackupRequest {
  std::string directory;  // absolute, on the machine of the stores
  std::size_t keep = 0;   // backups of this stack in it; 0: all
};

struct BackupStatus {
  enum class State : std::uint8_t { kRunning, kDone, kFailed };
  std::string name, directory;
  State state = State::kRunning;
  std::string trouble = {};  // of one that failed
  backup::Manifest manifest = {};
  std::uint64_t removed = 0;               // older ones
  std::uint64_t files = 0, new_bytes = 0;  // so far
};

class Backups {
 public:
  /// All must outlive it. `disk`: where files may be waited for.
  Backups(std::vector<StoreLink> stores, Clock& clock, std::string program, Executor disk)
      : stores_(std::move(stores)), clock_(clock), program_(std::move(program)), disk_(std::move(disk)) {}

  /// Begins a backup, and goes on with it on `executor`. kServerBusy while there is one under way here or in that
  /// directory; kInvalidInput, kStorageFailure: nothing can be made there.
  Task<Result<BackupStatus>> begin(BackupRequest request, Executor executor);
  /// Of the last one; nothing if it was another.
  [[nodiscard]] std::optional<BackupStatus> status(const std::string& name) const;
  Task<Result<std::vector<backup::StoredBackup>>> list(std::string directory) const;
  [[nodiscard]] const std::vector<StoreLink>& stores() const { return stores_; }

 private:
  struct Making;
  Task<void> make(std::shared_ptr<Making> making);
  Task<Result<void>> make_all(Making& making);
  Task<Result<void>> identify(Making& making);
  Task<Result<void>> cut(Making& making);
  Task<Result<void>> copy(Making& making);
  Task<void> abandon(Making& making);
  void update(const std::function<void(BackupStatus&)>& change);
  template <class Work>
  auto on_disk(Work work) const;

  const std::vector<StoreLink> stores_;
  Clock& clock_;
  const std::string program_;
  const Executor disk_;
  mutable Mutex mutex_;
  std::optional<BackupStatus> last_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::api
