#include "jobs/objects/file_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>

#include "common/base/text.h"
#include "jobs/kinds/archive/object_archive.h"
#include "jobs/spec/names.h"

namespace tidemark::jobs {
namespace {

constexpr const char* kOwn = ".tidemark";
constexpr const char* kQuarantine = "quarantine";
constexpr const char* kStamp = "owner.json";
constexpr std::size_t kMaxStampBytes = 4096;
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr mode_t kDirectoryMode = 0750;
constexpr mode_t kFileMode = 0640;
constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMostKnown = 10'000;  // directories

std::unexpected<Error> failed(const char* what, const std::string& path) {
  auto error = make_error(ErrorCode::kStorageFailure, std::string(what) + ": " + std::strerror(errno));
  error.detail = path;
  return fail(std::move(error));
}

bool is_segment(std::string_view text) {
  if (text.empty() || text.size() > 255 || text.front() == '.') return false;
  return std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || std::string_view("-_%~@.").contains(c); });
}

/// A directory and the last segment of a path.
struct Location {
  Descriptor directory;
  std::string name;
};

/// Without a descriptor, a directory is missing. `make` is called before each step, to create a missing directory.
using MakeStep = std::function<Result<void>(int parent, const std::string& name, std::string_view path)>;
Result<Location> descend(int root, const std::string& path, const MakeStep& make) {
  if (!is_tree_path(path)) return fail(ErrorCode::kInvalidInput, "'" + path + "' is no path of an archive.");
  Location place{Descriptor(::openat(root, ".", kDirectory)), {}};
  if (!place.directory) return failed("opening a directory", path);
  std::size_t begin = 0;
  while (true) {
    const auto end = path.find('/', begin);
    place.name = path.substr(begin, end == std::string::npos ? end : end - begin);
    if (end == std::string::npos) return place;
    if (make) {
      TRY(make(place.directory.get(), place.name, std::string_view(path).substr(0, end)));
    }
    Descriptor next(::openat(place.directory.get(), place.name.c_str(), kDirectory));
    if (!next && errno == ENOENT) return Location{Descriptor(), {}};
    if (!next) return failed("opening a directory", path);
    place.directory = std::move(next);
    begin = end + 1;
  }
}

/// Opens the directory, and makes it if it is missing.
Result<Descriptor> directory_in(int parent, const char* name) {
  if (::mkdirat(parent, name, kDirectoryMode) != 0 && errno != EEXIST) return failed("making a directory", name);
  Descriptor directory(::openat(parent, name, kDirectory));
  if (!directory) return failed("opening a directory", name);
  return directory;
}

Result<void> write_all(int file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const auto written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed("writing a file", path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

/// Returns the file's bytes; nothing if there is no such file.
Result<std::optional<std::string>> read_file(int directory, const std::string& name, std::size_t limit) {
  Descriptor file(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::optional<std::string>();
  if (!file) return failed("opening a file", name);
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return failed("reading a file", name);
  if (!S_ISREG(info.st_mode) || static_cast<std::uint64_t>(info.st_size) > limit) {
    return fail(ErrorCode::kCorruption, "'" + name + "' is no archived file.");
  }
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto got = ::read(file.get(), bytes.data() + at, bytes.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("reading a file", name);
    if (got == 0) break;
    at += static_cast<std::size_t>(got);
  }
  bytes.resize(at);
  return std::optional<std::string>(std::move(bytes));
}

/// When it returns, the file is durable under its temporary name.
Result<void> write_file(int directory, const std::string& name, const std::string& bytes) {
  Descriptor file(::openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, kFileMode));
  if (!file) return failed("creating a file", name);
  TRY(write_all(file.get(), bytes, name));
  if (::fsync(file.get()) != 0) return failed("syncing a file", name);
  return {};
}

Result<void> unlink_file(int directory, const std::string& name, const std::string& path) {
  if (::unlinkat(directory, name.c_str(), 0) != 0 && errno != ENOENT) return failed("removing a file", path);
  return {};
}

Time time_of(const timespec& stamp) {
  return Time(std::chrono::duration_cast<Duration>(std::chrono::seconds(stamp.tv_sec) +
                                                   std::chrono::nanoseconds(stamp.tv_nsec)));
}

}  // namespace

bool is_tree_path(const std::string& path) {
  std::size_t begin = 0;
  while (true) {
    const auto end = path.find('/', begin);
    if (!is_segment(std::string_view(path).substr(begin, end == std::string::npos ? end : end - begin))) return false;
    if (end == std::string::npos) return true;
    begin = end + 1;
  }
}

Result<std::vector<FileDirectory>> open_directories(const std::string& setting, const Executor& blocking) {
  std::vector<FileDirectory> out;
  for (std::string_view left = setting; !left.empty();) {
    const std::string item(take_item(left));
    const auto equals = item.find('=');
    const auto name = item.substr(0, equals);
    const bool twice = std::any_of(out.begin(), out.end(), [&](const auto& other) { return other.name == name; });
    if (equals == std::string::npos || equals + 1 == item.size() || !is_directory_name(name) || twice) {
      return fail(ErrorCode::kConfigInvalid, "archive_directories must be name=path,name=path, not '" + item + "'");
    }
    auto tree = TRY(FileTree::open(item.substr(equals + 1)));
    out.push_back({name, std::move(tree), blocking});
  }
  return out;
}

Result<std::shared_ptr<FileTree>> FileTree::open(const std::string& path) {
  // The directory itself is the operator's choice: it may be reached through a link.
  const int root = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) {
    return fail(ErrorCode::kConfigInvalid,
                "The archive directory " + path + " cannot be opened: " + std::strerror(errno));
  }
  return std::shared_ptr<FileTree>(new FileTree(root));
}

Result<void> FileTree::make_directory(int parent, const std::string& name, std::string_view path) const {
  {
    MutexLock lock(mutex_);
    if (durable_.contains(path)) return {};
  }
  if (::mkdirat(parent, name.c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
    return failed("making a directory", std::string(path));
  }
  if (::fsync(parent) != 0) return failed("syncing a directory", std::string(path));
  MutexLock lock(mutex_);
  if (durable_.size() >= kMostKnown) durable_.clear();
  durable_.emplace(path);
  return {};
}

Result<void> FileTree::write(const std::string& path, const std::string& temporary, const std::string& bytes) const {
  if (!is_segment(temporary)) return fail(ErrorCode::kInvalidInput, "'" + temporary + "' is no file name.");
  auto staging = TRY(own_directory());
  const MakeStep make = [this](int parent, const std::string& name, std::string_view way) {
    return make_directory(parent, name, way);
  };
  auto place = descend(root_.get(), path, make);
  if (place && !place->directory) {
    // A directory that this process made has been removed.
    {
      MutexLock lock(mutex_);
      durable_.clear();
    }
    place = descend(root_.get(), path, make);
  }
  if (!place) return fail(std::move(place.error()));
  if (!place->directory) return failed("opening a directory", path);
  TRY(write_file(staging.get(), temporary, bytes));
  if (::renameat(staging.get(), temporary.c_str(), place->directory.get(), place->name.c_str()) != 0) {
    return failed("renaming a file", path);
  }
  if (::fsync(place->directory.get()) != 0) return failed("syncing a directory", path);
  return {};
}

Result<std::optional<std::string>> FileTree::read(const std::string& path, std::size_t limit) const {
  auto place = TRY(descend(root_.get(), path, nullptr));
  if (!place.directory) return std::optional<std::string>();
  return read_file(place.directory.get(), place.name, limit);
}

Result<bool> FileTree::has(const std::string& path) const {
  const auto place = TRY(descend(root_.get(), path, nullptr));
  return place.directory && ::faccessat(place.directory.get(), place.name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<void> FileTree::remove(const std::string& path) const {
  auto place = TRY(descend(root_.get(), path, nullptr));
  if (!place.directory) return {};
  return unlink_file(place.directory.get(), place.name, path);
}

Result<Descriptor> FileTree::own_directory() const { return directory_in(root_.get(), kOwn); }

Result<Descriptor> FileTree::quarantine_directory() const {
  return directory_in(TRY(own_directory()).get(), kQuarantine);
}

Result<void> FileTree::remove_temporary(const std::string& temporary) const {
  if (!is_segment(temporary)) return fail(ErrorCode::kInvalidInput);
  return unlink_file(TRY(own_directory()).get(), temporary, temporary);
}

Result<void> FileTree::quarantine(const std::string& path, Time now) const {
  auto from = TRY(descend(root_.get(), path, nullptr));
  if (!from.directory) return {};
  const auto root = TRY(quarantine_directory());
  const MakeStep make = [](int parent, const std::string& name, std::string_view) -> Result<void> {
    TRY(directory_in(parent, name.c_str()));
    return {};
  };
  auto to = TRY(descend(root.get(), path, make));
  if (!to.directory) return failed("opening a directory", path);
  // The time is set first: a file must not look as if it had been there for long.
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
  timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
                       {.tv_sec = seconds.count(), .tv_nsec = (since - seconds).count()}};
  if (::utimensat(from.directory.get(), from.name.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return failed("marking a file", path);
  }
  if (::renameat(from.directory.get(), from.name.c_str(), to.directory.get(), to.name.c_str()) != 0 &&
      errno != ENOENT) {
    return failed("renaming a file", path);
  }
  return {};
}

Result<bool> FileTree::put_back(const std::string& path) const {
  const auto root = TRY(quarantine_directory());
  auto from = TRY(descend(root.get(), path, nullptr));
  if (!from.directory || ::faccessat(from.directory.get(), from.name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
    return false;
  }
  const MakeStep make = [this](int parent, const std::string& name, std::string_view way) {
    return make_directory(parent, name, way);
  };
  auto to = TRY(descend(root_.get(), path, make));
  if (!to.directory) return failed("opening a directory", path);
  // Only one delivery ever writes a file of this name, so an existing file is the same.
  if (::renameat(from.directory.get(), from.name.c_str(), to.directory.get(), to.name.c_str()) != 0) {
    if (errno == ENOENT) return false;
    return failed("renaming a file", path);
  }
  if (::fsync(to.directory.get()) != 0) return failed("syncing a directory", path);
  return true;
}

Result<void> FileTree::remove_quarantined(const std::string& path) const {
  const auto root = TRY(quarantine_directory());
  auto place = TRY(descend(root.get(), path, nullptr));
  if (!place.directory) return {};
  return unlink_file(place.directory.get(), place.name, path);
}

Result<std::optional<std::string>> FileTree::read_stamp() const {
  Descriptor own(::openat(root_.get(), kOwn, kDirectory));
  if (!own && errno == ENOENT) return std::optional<std::string>();
  if (!own) return failed("opening a directory", kOwn);
  return read_file(own.get(), kStamp, kMaxStampBytes);
}

Result<bool> FileTree::write_stamp(const std::string& bytes, Stamping how, const std::string& random) const {
  const auto own = TRY(own_directory());
  const auto temporary = "stamp-" + random;
  TRY(write_file(own.get(), temporary, bytes));
  bool replaces = how == Stamping::kReplace;
  if (!replaces && ::linkat(own.get(), temporary.c_str(), own.get(), kStamp, 0) != 0) {
    const bool taken = errno == EEXIST || ::faccessat(own.get(), kStamp, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    if (taken) {
      TRY(unlink_file(own.get(), temporary, temporary));
      return false;
    }
    replaces = true;  // a file system without links
  }
  if (replaces && ::renameat(own.get(), temporary.c_str(), own.get(), kStamp) != 0) {
    return failed("writing the stamp", kStamp);
  }
  TRY(unlink_file(own.get(), temporary, temporary));
  if (::fsync(own.get()) != 0 || ::fsync(root_.get()) != 0) return failed("syncing a directory", kOwn);
  return true;
}

Result<std::unique_ptr<FileTree::Walk>> FileTree::walk(Area area) const {
  // Temporary files lie in one directory, beside the quarantine. Names that begin with a dot are skipped.
  std::unique_ptr<Walk> walk(new Walk(area == Area::kTemporary ? 1 : kMaxDepth));
  Descriptor root = area == Area::kArchive     ? Descriptor(::openat(root_.get(), ".", kDirectory))
                    : area == Area::kTemporary ? TRY(own_directory())
                                               : TRY(quarantine_directory());
  if (!root) return failed("opening a directory", ".");
  TRY(walk->enter(std::move(root), ""));
  return walk;
}

Result<void> FileTree::Walk::enter(Descriptor directory, std::string prefix) {
  DIR* listing = ::fdopendir(directory.get());
  if (listing == nullptr) return failed("listing a directory", prefix);
  directory.release();  // closedir() closes it
  levels_.push_back({{listing, &::closedir}, std::move(prefix)});
  return {};
}

Result<std::vector<FileTree::Found>> FileTree::Walk::next(std::size_t most) {
  std::vector<Found> out;
  while (!levels_.empty() && out.size() < most) {
    errno = 0;
    const auto* entry = ::readdir(levels_.back().listing.get());
    if (entry == nullptr && errno != 0) return failed("listing a directory", levels_.back().prefix);
    if (entry == nullptr) {
      levels_.pop_back();
    } else if (is_segment(entry->d_name)) {
      TRY(look_at(entry->d_name, out));
    }
  }
  return out;
}

Result<void> FileTree::Walk::look_at(const std::string& name, std::vector<Found>& out) {
  const int directory = ::dirfd(levels_.back().listing.get());
  auto path = levels_.back().prefix + name;
  struct stat info{};
  if (::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return {};  // it was removed meanwhile
  if (S_ISREG(info.st_mode)) {
    out.push_back({std::move(path), time_of(info.st_mtim)});
    return {};
  }
  if (!S_ISDIR(info.st_mode) || levels_.size() >= depth_) return {};
  Descriptor below(::openat(directory, name.c_str(), kDirectory));
  if (!below) return {};
  return enter(std::move(below), path + "/");
}

}  // namespace tidemark::jobs
