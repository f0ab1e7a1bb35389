#include "common/service/store_backup.h"

#include <boost/asio/post.hpp>

#include "common/backup/part_writer.h"
#include "common/base/log.h"
#include "common/service/data_stamp.h"

namespace tidemark::service {
namespace {

namespace fs = std::filesystem;

const FailStep kBeginBackupStep("backup.begin");
const FailStep kCutStep("backup.cut");
const FailStep kCopyStep("backup.copy");

constexpr std::size_t kTellEvery = 64;  // files

void remove_tree(const fs::path& path) {
  std::error_code left;
  fs::remove_all(path, left);
}

}  // namespace

struct StoreBackup::Current {
  std::string id;
  backup::PartWriter writer;
  std::shared_ptr<void> kept;
  std::vector<std::shared_ptr<const kv::Reader>> rows = {};  // at the cut, of each shard
  bool copying = false;
};

template <class Work>
auto StoreBackup::on_disk(Work work) {
  using Outcome = std::invoke_result_t<Work&>;
  return asio::co_spawn(
      disk_, [work = std::move(work)]() mutable -> Task<Outcome> { co_return work(); }, asio::use_awaitable);
}

StoreBackup::StoreBackup(shards::StoredShards& shards, const FilesBeside* beside, fs::path folder, std::string part)
    : shards_(shards),
      beside_(beside),
      folder_(std::move(folder)),
      staging_(folder_ / "checkpoint"),
      part_(std::move(part)) {
  forget();  // the leftovers of a process that died
}

StoreBackup::~StoreBackup() {
  stopping_.store(true);
  disk_.stop();
  disk_.join();
  forget();
}

Result<StoreBackup::Current*> StoreBackup::current(const std::string& id) {
  if (current_ && current_->id == id) return current_.get();
  return fail(ErrorCode::kNotFound, "The store makes no such backup: it was started again, or another backup began.");
}

void StoreBackup::forget() {
  patience_.cancel();
  current_.reset();
  remove_tree(staging_);
  remove_tree(staging_.string() + ".tmp");
}

void StoreBackup::lose_patience(const std::string& id) {
  patience_.expires_after(kBackupPatience);
  patience_.async_wait([this, id](const boost::system::error_code& cancelled) {
    if (cancelled || !current_ || current_->id != id || current_->copying) return;
    log_warning("a backup is given up, because nobody goes on with it backup={}", id);
    forget();
  });
}

Task<Result<void>> StoreBackup::begin(calls::BeginBackup call) {
  return on_disk([this, call = std::move(call)]() -> Result<void> {
    if (current_ && current_->copying) return fail(ErrorCode::kServerBusy, "The store is making another backup.");
    forget();
    kBeginBackupStep.before.reach();
    if (!fs::path(call.directory).is_absolute()) return fail(ErrorCode::kInvalidInput);
    auto writer = TRY(backup::PartWriter::create(call.directory, part_, call.previous));
    abandoned_.store(false);
    current_ =
        std::make_unique<Current>(Current{call.id, std::move(writer), beside_ != nullptr ? beside_->keep() : nullptr});
    lose_patience(call.id);
    {
      MutexLock lock(mutex_);
      told_id_ = call.id;
      state_ = {};
    }
    auto done = shards_.flush();
    if (!done) forget();
    return done;
  });
}

Task<Result<void>> StoreBackup::hold(calls::HoldWrites call) {
  return on_disk([this, call = std::move(call)]() -> Result<void> {
    TRY(current(call.id));
    return shards_.hold_writes(std::chrono::milliseconds(call.at_most_ms));
  });
}

Result<void> StoreBackup::make_cut(Current& current) {
  for (const auto& engine : shards_) current.rows.push_back(engine->snapshot());
  kCutStep.before.reach();
  auto made = shards_.checkpoint(staging_);
  kCutStep.after.reach();
  return made;
}

Task<Result<std::uint64_t>> StoreBackup::cut(calls::CutBackup call) {
  return on_disk([this, call = std::move(call)]() -> Result<std::uint64_t> {
    auto* const now = TRY(current(call.id));
    auto made = make_cut(*now);
    const auto held = shards_.resume_writes();  // whether the cut was made or not
    TRY(made);
    return static_cast<std::uint64_t>(TRY(held).count());
  });
}

Task<Result<void>> StoreBackup::copy(calls::CopyBackup call) {
  return on_disk([this, call = std::move(call)]() -> Result<void> {
    auto* const now = TRY(current(call.id));
    if (now->rows.empty() || now->copying) return fail(ErrorCode::kInvalidInput);
    now->copying = true;
    asio::post(disk_, [this] { copy_all(); });
    return {};
  });
}

void StoreBackup::copy_all() {
  const auto done = copy_part(*current_);
  if (!done) log_error("a backup failed backup={} reason=\"{}\"", current_->id, done.error().message);
  const auto part = current_->writer.so_far();
  forget();  // before the answer: the requester may begin another backup
  tell(part, true, done ? "" : done.error().message);
}

Result<void> StoreBackup::copy_part(Current& current) {
  kCopyStep.before.reach();
  TRY(add_files(current));
  TRY(current.writer.finish());
  kCopyStep.after.reach();
  return {};
}

Result<void> StoreBackup::add_files(Current& current) {
  std::vector<std::pair<fs::path, std::string>> files{{folder_ / kStampName, kStampName}};
  std::error_code failed;
  auto entry = fs::recursive_directory_iterator(staging_, failed);
  for (; !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
    if (!entry->is_directory()) files.emplace_back(entry->path(), entry->path().lexically_relative(staging_).string());
  }
  if (failed) return fail(error_for_log(ErrorCode::kStorageFailure, "reading the checkpoint: " + failed.message()));
  if (beside_ != nullptr) {
    for (auto& path : TRY(beside_->files_of(current.rows))) files.emplace_back(folder_ / path, path.string());
  }
  current.rows.clear();
  std::size_t added = 0;
  for (const auto& [source, path] : files) {
    if (stopping_.load() || abandoned_.load()) return fail(ErrorCode::kCancelled, "The backup was given up.");
    TRY(current.writer.add(source, path));
    if (++added % kTellEvery == 0) tell(current.writer.so_far(), false);
  }
  return {};
}

void StoreBackup::tell(const backup::Part& part, bool done, std::string trouble) {
  MutexLock lock(mutex_);
  state_ = {done, std::move(trouble), part.list_sha256, part.files, part.bytes, part.new_files, part.new_bytes};
}

Task<Result<CopyState>> StoreBackup::state(calls::ReadCopyState call) {
  MutexLock lock(mutex_);
  if (told_id_ != call.id) co_return fail(ErrorCode::kNotFound, "The store makes no such backup.");
  co_return state_;
}

Task<Result<void>> StoreBackup::end(calls::EndBackup call) {
  {
    MutexLock lock(mutex_);
    if (told_id_ == call.id) abandoned_.store(true);  // ends the copying that occupies the thread
  }
  return on_disk([this, call = std::move(call)]() -> Result<void> {
    if (!current_ || current_->id != call.id || current_->copying) return {};
    static_cast<void>(shards_.resume_writes().has_value());  // writes may be held or not
    forget();
    return {};
  });
}

}  // namespace tidemark::service
