// A store's part of a backup (maintenance_calls.h). The work is done on a thread of its own; calls may come from any.
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <filesystem>
#include <memory>
#include <span>

#include "common/base/async.h"
#include "common/service/maintenance_calls.h"
#include "common/shards/stored_shards.h"

namespace tidemark::backup {
struct Part;
}

namespace tidemark::service {

/// Files of a store beside its database.
class FilesBeside {
 public:
  virtual ~FilesBeside() = default;
  /// Returns their directory, which may be on a disk of its own.
  [[nodiscard]] virtual std::filesystem::path directory() const = 0;
  /// While the returned object lives, no file is removed.
  [[nodiscard]] virtual std::shared_ptr<void> keep() const = 0;
  /// Returns the files that the rows of all shards refer to, relative to the store's folder. They are complete and do
  /// not change.
  using Rows = std::span<const std::shared_ptr<const kv::Reader>>;
  [[nodiscard]] virtual Result<std::vector<std::filesystem::path>> files_of(Rows rows) const = 0;
};

class StoreBackup {
 public:
  /// `folder`: of the store. `beside` may be null. All arguments must outlive it.
  StoreBackup(shards::StoredShards& shards, const FilesBeside* beside, std::filesystem::path folder, std::string part);
  ~StoreBackup();
  StoreBackup(const StoreBackup&) = delete;
  StoreBackup& operator=(const StoreBackup&) = delete;

  // They fail with kNotFound for a backup that is not under way here.
  Task<Result<void>> begin(calls::BeginBackup call);
  Task<Result<void>> hold(calls::HoldWrites call);
  Task<Result<std::uint64_t>> cut(calls::CutBackup call);
  Task<Result<void>> copy(calls::CopyBackup call);
  Task<Result<CopyState>> state(calls::ReadCopyState call);
  Task<Result<void>> end(calls::EndBackup call);

 private:
  struct Current;
  template <class Work>
  auto on_disk(Work work);
  Result<Current*> current(const std::string& id);
  Result<void> make_cut(Current& current);
  void copy_all();
  Result<void> copy_part(Current& current);
  Result<void> add_files(Current& current);
  void forget();
  void tell(const backup::Part& part, bool done, std::string trouble = {});
  void lose_patience(const std::string& id);

  shards::StoredShards& shards_;
  const FilesBeside* const beside_;
  const std::filesystem::path folder_, staging_;
  const std::string part_;
  std::unique_ptr<Current> current_;  // the backup under way; used on the thread alone
  std::atomic<bool> stopping_{false}, abandoned_{false};
  Mutex mutex_;
  std::string told_id_ GUARDED_BY(mutex_);
  CopyState state_ GUARDED_BY(mutex_);
  asio::thread_pool disk_{1};
  asio::steady_timer patience_{disk_};
};

}  // namespace tidemark::service
