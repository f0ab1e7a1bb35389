// Files that lose unsynced data when the power fails: the bytes after the last sync of a file, and names that came into
// a directory after its last sync (a rename then leaves the name's former file). kill -9 keeps the page cache and never
// shows a missing fsync; this does. The power can be set to fail at the n-th change. Thread safe.
#pragma once
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>

namespace tidemark::kv::testing {

class ForgetfulDisk final : public rocksdb::FileSystemWrapper {
 public:
  using Status = rocksdb::IOStatus;
  using Options = rocksdb::IOOptions;
  using Debug = rocksdb::IODebugContext;

  ForgetfulDisk() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  [[nodiscard]] const char* Name() const override { return "ForgetfulDisk"; }

  /// The power fails instead of the n-th change from now on (1: the next).
  void fail_at(std::uint64_t change) {
    std::lock_guard lock(mutex_);
    left_ = change;
  }
  void cut_power() {
    std::lock_guard lock(mutex_);
    dead_ = true;
  }
  [[nodiscard]] bool is_dead() const {
    std::lock_guard lock(mutex_);
    return dead_;
  }
  /// Restores, after everything is closed, the state that a machine finds when it starts again.
  void come_back() {
    std::lock_guard lock(mutex_);
    for (const auto& [path, synced] : synced_) {
      std::error_code gone;
      if (std::filesystem::file_size(path, gone) > synced && !gone) std::filesystem::resize_file(path, synced);
    }
    for (const auto& [path, before] : new_names_) {
      std::filesystem::remove(path);
      if (before) std::ofstream(path, std::ios::binary) << *before;
    }
    synced_.clear();
    new_names_.clear();
    dead_ = false;
    left_ = std::numeric_limits<std::uint64_t>::max();
  }

  Status NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                         std::unique_ptr<rocksdb::FSWritableFile>* file, Debug* debug) override {
    if (auto refused = change(); !refused.ok()) return refused;
    note_new_name(path);
    auto status = target()->NewWritableFile(path, options, file, debug);
    if (status.ok()) *file = std::make_unique<File>(*this, path, 0, std::move(*file));
    return status;
  }
  Status ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                            std::unique_ptr<rocksdb::FSWritableFile>* file, Debug* debug) override {
    if (auto refused = change(); !refused.ok()) return refused;
    std::error_code none;
    const auto size = std::filesystem::file_size(path, none);
    if (none) note_new_name(path);
    auto status = target()->ReopenWritableFile(path, options, file, debug);
    if (status.ok()) *file = std::make_unique<File>(*this, path, none ? 0 : size, std::move(*file));
    return status;
  }
  Status NewDirectory(const std::string& path, const Options& options, std::unique_ptr<rocksdb::FSDirectory>* directory,
                      Debug* debug) override {
    auto status = target()->NewDirectory(path, options, directory, debug);
    if (status.ok()) *directory = std::make_unique<Directory>(*this, path, std::move(*directory));
    return status;
  }
  Status RenameFile(const std::string& from, const std::string& to, const Options& options, Debug* debug) override {
    if (auto refused = change(); !refused.ok()) return refused;
    note_new_name(to);
    auto status = target()->RenameFile(from, to, options, debug);
    std::lock_guard lock(mutex_);
    new_names_.erase(from);
    if (auto known = synced_.extract(from)) {
      synced_.erase(to);
      known.key() = to;
      synced_.insert(std::move(known));
    }
    return status;
  }
  Status DeleteFile(const std::string& path, const Options& options, Debug* debug) override {
    if (auto refused = change(); !refused.ok()) return refused;
    {
      std::lock_guard lock(mutex_);
      synced_.erase(path);
      new_names_.erase(path);
    }
    return target()->DeleteFile(path, options, debug);
  }
  // Operations that the engine does not use, and that this disk does not model.
  Status ReuseWritableFile(const std::string&, const std::string&, const rocksdb::FileOptions&,
                           std::unique_ptr<rocksdb::FSWritableFile>*, Debug*) override {
    return Status::NotSupported("reuse");
  }
  Status NewRandomRWFile(const std::string&, const rocksdb::FileOptions&, std::unique_ptr<rocksdb::FSRandomRWFile>*,
                         Debug*) override {
    return Status::NotSupported("random writes");
  }
  Status LinkFile(const std::string&, const std::string&, const Options&, Debug*) override {
    return Status::NotSupported("links");
  }

 private:
  class File final : public rocksdb::FSWritableFileOwnerWrapper {
   public:
    File(ForgetfulDisk& disk, std::string path, std::uint64_t size, std::unique_ptr<rocksdb::FSWritableFile> file)
        : FSWritableFileOwnerWrapper(std::move(file)), disk_(disk), path_(std::move(path)), size_(size) {
      disk_.note_synced(path_, size_);
    }
    Status Append(const rocksdb::Slice& bytes, const Options& options, Debug* debug) override {
      if (auto refused = disk_.change(); !refused.ok()) return refused;
      size_ += bytes.size();
      return FSWritableFileOwnerWrapper::Append(bytes, options, debug);
    }
    Status Append(const rocksdb::Slice& bytes, const Options& options, const rocksdb::DataVerificationInfo&,
                  Debug* debug) override {
      return Append(bytes, options, debug);
    }
    Status PositionedAppend(const rocksdb::Slice&, std::uint64_t, const Options&, Debug*) override {
      return Status::NotSupported("positioned append");
    }
    Status PositionedAppend(const rocksdb::Slice&, std::uint64_t, const Options&, const rocksdb::DataVerificationInfo&,
                            Debug*) override {
      return Status::NotSupported("positioned append");
    }
    Status Truncate(std::uint64_t size, const Options& options, Debug* debug) override {
      if (auto refused = disk_.change(); !refused.ok()) return refused;
      size_ = size;
      return FSWritableFileOwnerWrapper::Truncate(size, options, debug);
    }
    Status Sync(const Options&, Debug*) override { return synced(); }
    Status Fsync(const Options&, Debug*) override { return synced(); }

   private:
    /// The real fsync is not needed: the test's machine does not lose power.
    Status synced() {
      if (auto refused = disk_.change(); !refused.ok()) return refused;
      disk_.note_synced(path_, size_);
      return Status::OK();
    }
    ForgetfulDisk& disk_;
    const std::string path_;
    std::atomic<std::uint64_t> size_;
  };

  class Directory final : public rocksdb::FSDirectoryWrapper {
   public:
    Directory(ForgetfulDisk& disk, std::string path, std::unique_ptr<rocksdb::FSDirectory> directory)
        : FSDirectoryWrapper(std::move(directory)), disk_(disk), path_(std::move(path)) {}
    Status Fsync(const Options&, Debug*) override { return disk_.sync_directory(path_); }
    Status FsyncWithDirOptions(const Options&, Debug*, const rocksdb::DirFsyncOptions&) override {
      return disk_.sync_directory(path_);
    }

   private:
    ForgetfulDisk& disk_;
    const std::string path_;
  };

  /// Every change asks here whether it still takes effect.
  Status change() {
    std::lock_guard lock(mutex_);
    if (!dead_ && --left_ == 0) dead_ = true;
    return dead_ ? Status::IOError("the power failed") : Status::OK();
  }
  void note_synced(const std::string& path, std::uint64_t size) {
    std::lock_guard lock(mutex_);
    if (!dead_) synced_[path] = size;
  }
  /// Remembers the former file of the name until its directory is synced.
  void note_new_name(const std::string& path) {
    std::optional<std::string> before;
    if (std::ifstream file(path, std::ios::binary); file) {
      before = std::string(std::istreambuf_iterator<char>(file), {});
    }
    std::lock_guard lock(mutex_);
    new_names_.try_emplace(path, std::move(before));
  }
  Status sync_directory(const std::string& path) {
    if (auto refused = change(); !refused.ok()) return refused;
    std::lock_guard lock(mutex_);
    const auto directory = (std::filesystem::path(path) / "").lexically_normal().parent_path();
    std::erase_if(new_names_, [&](const auto& item) {
      return std::filesystem::path(item.first).lexically_normal().parent_path() == directory;
    });
    return Status::OK();
  }

  mutable std::mutex mutex_;
  bool dead_ = false;
  std::uint64_t left_ = std::numeric_limits<std::uint64_t>::max();
  std::map<std::string, std::uint64_t> synced_;                  // safe bytes of each file
  std::map<std::string, std::optional<std::string>> new_names_;  // not yet safe, with the former file of each
};

}  // namespace tidemark::kv::testing
