// Makes backups of all stores at one cut (common/service/maintenance_calls.h). One at a time; the state of the last one
// is kept only in memory, since the result is on the disk. Thread safe.
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
  std::size_t keep = 0;   // how many backups of this stack stay in it; 0: all
};

struct BackupStatus {
  enum class State : std::uint8_t { kRunning, kDone, kFailed };
  std::string name, directory;
  State state = State::kRunning;
  std::string trouble = {};  // for a backup that failed
  backup::Manifest manifest = {};
  std::uint64_t removed = 0;               // older backups
  std::uint64_t files = 0, new_bytes = 0;  // so far
};

class Backups {
 public:
  /// All references must outlive it. `disk`: an executor that may wait for files.
  Backups(std::vector<StoreLink> stores, Clock& clock, std::string program, Executor disk)
      : stores_(std::move(stores)), clock_(clock), program_(std::move(program)), disk_(std::move(disk)) {}

  /// Begins a backup, and continues it on `executor`. kServerBusy while another backup runs here or in that directory;
  /// kInvalidInput, kStorageFailure: no backup can be made there.
  Task<Result<BackupStatus>> begin(BackupRequest request, Executor executor);
  /// Returns the status of the last backup; nothing if that has another name.
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
