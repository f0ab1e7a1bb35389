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

constexpr const char* kTemporaries = ".tidemark";
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr mode_t kDirectoryMode = 0750;
constexpr mode_t kFileMode = 0640;
constexpr int kMaxDepth = 64;
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

/// A directory and the last segment.
struct Location {
  Descriptor directory;
  std::string name;
};

/// No descriptor: a directory is missing. `make` is called for each step before it is taken, to create what is not
/// there.
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

Result<Descriptor> temporaries(int root) {
  if (::mkdirat(root, kTemporaries, kDirectoryMode) != 0 && errno != EEXIST) {
    return failed("making a directory", kTemporaries);
  }
  Descriptor directory(::openat(root, kTemporaries, kDirectory));
  if (!directory) return failed("opening a directory", kTemporaries);
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

Result<void> walk_directory(Descriptor directory, const std::string& prefix, std::size_t most, int depth,
                            std::vector<FileTree::Found>& out) {
  Descriptor own(::openat(directory.get(), ".", kDirectory));
  DIR* listing = own ? ::fdopendir(own.get()) : nullptr;
  if (listing == nullptr) return failed("listing a directory", prefix);
  own.release();  // closedir() closes it
  std::vector<std::string> below;
  while (const auto* entry = ::readdir(listing)) {
    const std::string name = entry->d_name;
    struct stat info{};
    if (!is_segment(name) || ::fstatat(directory.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISDIR(info.st_mode)) below.push_back(name);
    if (S_ISREG(info.st_mode) && out.size() < most) out.push_back({prefix + name});
  }
  ::closedir(listing);
  for (const auto& name : below) {
    if (out.size() >= most || depth >= kMaxDepth) break;
    Descriptor next(::openat(directory.get(), name.c_str(), kDirectory));
    if (!next) continue;  // it has gone meanwhile
    TRY(walk_directory(std::move(next), prefix + name + "/", most, depth + 1, out));
  }
  return {};
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
  // The directory itself is the operator's word: it may be reached through a link.
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
  auto staging = TRY(temporaries(root_.get()));
  const MakeStep make = [this](int parent, const std::string& name, std::string_view way) {
    return make_directory(parent, name, way);
  };
  auto place = descend(root_.get(), path, make);
  if (place && !place->directory) {
    // Somebody removed what we made.
    {
      MutexLock lock(mutex_);
      durable_.clear();
    }
    place = descend(root_.get(), path, make);
  }
  if (!place) return fail(std::move(place.error()));
  if (!place->directory) return failed("opening a directory", path);
  {
    Descriptor file(
        ::openat(staging.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, kFileMode));
    if (!file) return failed("creating a file", temporary);
    TRY(write_all(file.get(), bytes, temporary));
    if (::fsync(file.get()) != 0) return failed("syncing a file", temporary);
  }
  if (::renameat(staging.get(), temporary.c_str(), place->directory.get(), place->name.c_str()) != 0) {
    return failed("renaming a file", path);
  }
  if (::fsync(place->directory.get()) != 0) return failed("syncing a directory", path);
  return {};
}

Result<std::optional<std::string>> FileTree::read(const std::string& path, std::size_t limit) const {
  auto place = TRY(descend(root_.get(), path, nullptr));
  if (!place.directory) return std::optional<std::string>();
  Descriptor file(::openat(place.directory.get(), place.name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::optional<std::string>();
  if (!file) return failed("opening a file", path);
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return failed("reading a file", path);
  if (!S_ISREG(info.st_mode) || static_cast<std::uint64_t>(info.st_size) > limit) {
    return fail(ErrorCode::kCorruption, "'" + path + "' is no archived file.");
  }
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto got = ::read(file.get(), bytes.data() + at, bytes.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("reading a file", path);
    if (got == 0) break;
    at += static_cast<std::size_t>(got);
  }
  bytes.resize(at);
  return std::optional<std::string>(std::move(bytes));
}

Result<void> FileTree::remove(const std::string& path) const {
  auto place = TRY(descend(root_.get(), path, nullptr));
  if (!place.directory) return {};
  if (::unlinkat(place.directory.get(), place.name.c_str(), 0) != 0 && errno != ENOENT) {
    return failed("removing a file", path);
  }
  return {};
}

Result<void> FileTree::remove_temporary(const std::string& temporary) const {
  auto staging = TRY(temporaries(root_.get()));
  if (!is_segment(temporary)) return fail(ErrorCode::kInvalidInput);
  if (::unlinkat(staging.get(), temporary.c_str(), 0) != 0 && errno != ENOENT) {
    return failed("removing a file", temporary);
  }
  return {};
}

Result<std::vector<FileTree::Found>> FileTree::walk(std::size_t most) const {
  std::vector<Found> out;
  auto staging = TRY(temporaries(root_.get()));
  TRY(walk_directory(std::move(staging), "", most, kMaxDepth, out));
  for (auto& found : out) found.temporary = true;
  Descriptor root(::openat(root_.get(), ".", kDirectory));
  if (!root) return failed("opening a directory", ".");
  // The temporaries' own directory begins with a dot and is passed over.
  TRY(walk_directory(std::move(root), "", most, 0, out));
  return out;
}

}  // namespace tidemark::jobs
