#include "api/maintenance/backups.h"

#include <boost/asio/strand.hpp>

#include "common/base/log.h"
#include "common/base/side_by_side.h"
#include "common/rpc/call.h"

namespace tidemark::api {
namespace {

namespace calls = service::calls;

using service::kBeginPatience;
using service::kCallPatience;

/// Writes wait no longer than this, even if the api fails.
constexpr std::uint32_t kMostHeldMs = 5000;
constexpr Duration kBetweenLooks = std::chrono::milliseconds(50);

const FailStep kFinishStep("backup.finish");

}  // namespace

/// A backup in progress; used by one coroutine.
struct Backups::Making {
  backup::NewBackup made;
  BackupRequest request;
  backup::Manifest manifest = {};
  [[nodiscard]] const std::string& id() const { return made.name(); }
};

template <class Work>
auto Backups::on_disk(Work work) const {
  using Outcome = std::invoke_result_t<Work&>;
  return asio::co_spawn(
      disk_, [work = std::move(work)]() mutable -> Task<Outcome> { co_return work(); }, asio::use_awaitable);
}

void Backups::update(const std::function<void(BackupStatus&)>& change) {
  MutexLock lock(mutex_);
  if (last_) change(*last_);
}

std::optional<BackupStatus> Backups::status(const std::string& name) const {
  MutexLock lock(mutex_);
  return last_ && last_->name == name ? last_ : std::nullopt;
}

Task<Result<std::vector<backup::StoredBackup>>> Backups::list(std::string directory) const {
  return on_disk([directory = std::move(directory)] { return backup::list_backups(directory); });
}

Task<Result<BackupStatus>> Backups::begin(BackupRequest request, Executor executor) {
  auto made =
      CO_TRY(co_await on_disk([this, &request] { return backup::NewBackup::begin(request.directory, clock_.now()); }));
  BackupStatus status{.name = made.name(), .directory = request.directory};
  auto making = std::make_shared<Making>(Making{std::move(made), std::move(request)});
  {
    MutexLock lock(mutex_);
    if (last_ && last_->state == BackupStatus::State::kRunning) {
      co_return fail(ErrorCode::kServerBusy, "Another backup is being made.");
    }
    last_ = status;
  }
  spawn(asio::make_strand(executor), make(std::move(making)));
  co_return status;
}

Task<void> Backups::make(std::shared_ptr<Making> making) {
  const auto done = co_await make_all(*making);
  if (!done) {
    log_error("a backup failed backup={} reason=\"{}\" detail=\"{}\"", making->id(), done.error().message,
              done.error().detail);
    co_await abandon(*making);
  }
  // Removes the unfinished backup, which takes a while, before the status changes.
  co_await on_disk([&making] { making.reset(); });
  update([&](BackupStatus& status) {
    status.state = done ? BackupStatus::State::kDone : BackupStatus::State::kFailed;
    if (!done) status.trouble = done.error().message;
  });
}

Task<Result<void>> Backups::make_all(Making& making) {
  CO_TRY(co_await identify(making));
  CO_TRY(co_await cut(making));
  CO_TRY(co_await copy(making));
  kFinishStep.before.reach();
  making.manifest.made = clock_.now();
  making.manifest.program = program_;
  CO_TRY(co_await on_disk([&making] { return making.made.finish(making.manifest); }));
  kFinishStep.after.reach();
  std::size_t removed = 0;
  if (making.request.keep > 0) {
    removed = CO_TRY(
        co_await on_disk([&making] { return making.made.remove_older(making.request.keep, making.manifest.owner); }));
  }
  update([&](BackupStatus& status) {
    status.manifest = making.manifest;
    status.removed = removed;
  });
  co_return Result<void>();
}

Task<Result<void>> Backups::identify(Making& making) {
  for (const auto& store : stores_) {
    const auto data = CO_TRY(co_await rpc::call(*store.link, calls::Identify{making.id()}, kCallPatience));
    auto& owner = making.manifest.owner;
    if (owner.empty()) owner = data.owner;
    if (owner != data.owner) {
      co_return fail(ErrorCode::kConfigInvalid, "The stores have data of different stacks.");
    }
    making.manifest.parts.push_back({.name = data.part, .format = data.format});
  }
  co_return Result<void>();
}

/// From the time when the last store has answered that it holds writes until the first store makes its cut, nothing is
/// written anywhere: that is the moment of the backup. A write that a store accepts after its own cut cannot have been
/// read by another store before that one's cut, because that one holds writes until then.
Task<Result<void>> Backups::cut(Making& making) {
  const auto directory = making.made.path().string();
  const auto previous = co_await on_disk([&making] { return making.made.previous(making.manifest.owner).string(); });
  CO_TRY(co_await side_by_side(clock_, stores_.size(), [&](std::size_t n) {
    return rpc::call(*stores_[n].link, calls::BeginBackup{making.id(), directory, previous}, kBeginPatience);
  }));
  CO_TRY(co_await side_by_side(clock_, stores_.size(), [&](std::size_t n) {
    return rpc::call(*stores_[n].link, calls::HoldWrites{making.id(), kMostHeldMs}, kCallPatience);
  }));
  co_return co_await side_by_side(clock_, stores_.size(), [&](std::size_t n) -> Task<Result<void>> {
    making.manifest.parts[n].held_us =
        CO_TRY(co_await rpc::call(*stores_[n].link, calls::CutBackup{making.id()}, kCallPatience));
    co_return Result<void>();
  });
}

Task<Result<void>> Backups::copy(Making& making) {
  for (const auto& store : stores_) {
    CO_TRY(co_await rpc::call(*store.link, calls::CopyBackup{making.id()}, kCallPatience));
  }
  for (bool done = false; !done;) {
    co_await sleep_for(clock_, kBetweenLooks);
    done = true;
    std::uint64_t files = 0, new_bytes = 0;
    for (std::size_t n = 0; n < stores_.size(); ++n) {
      const auto state = CO_TRY(co_await rpc::call(*stores_[n].link, calls::ReadCopyState{making.id()}, kCallPatience));
      if (!state.trouble.empty()) {
        co_return fail(ErrorCode::kStorageFailure, "The " + stores_[n].name + " store: " + state.trouble);
      }
      auto& part = making.manifest.parts[n];
      part.list_sha256 = state.list_sha256;
      part.files = state.files;
      part.bytes = state.bytes;
      part.new_files = state.new_files;
      part.new_bytes = state.new_bytes;
      files += state.files;
      new_bytes += state.new_bytes;
      done = done && state.done;
    }
    update([&](BackupStatus& status) {
      status.files = files;
      status.new_bytes = new_bytes;
    });
  }
  co_return Result<void>();
}

Task<void> Backups::abandon(Making& making) {
  for (const auto& store : stores_) {
    const auto told = co_await rpc::call(*store.link, calls::EndBackup{making.id()}, kCallPatience);
    if (!told) log_warning("a store could not be told that a backup is given up store={}", store.name);
  }
}

}  // namespace tidemark::api
