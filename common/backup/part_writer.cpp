#include "common/backup/part_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "common/backup/durable_file.h"
#include "common/base/encoding.h"

namespace tidemark::backup {
namespace {

namespace fs = std::filesystem;

std::int64_t modified_ns(const struct stat& file) {
  return static_cast<std::int64_t>(file.st_mtim.tv_sec) * 1'000'000'000 + file.st_mtim.tv_nsec;
}

bool may_not_link(int code) { return code == EXDEV || code == EPERM || code == EMLINK || code == ENOTSUP; }

}  // namespace

PartWriter::PartWriter(fs::path unfinished, std::string part)
    : unfinished_(std::move(unfinished)), folder_(unfinished_ / part) {
  part_.name = std::move(part);
}

Result<PartWriter> PartWriter::create(const fs::path& unfinished, std::string part, const fs::path& previous) {
  PartWriter writer(unfinished, std::move(part));
  if (::mkdir(writer.folder_.c_str(), 0700) != 0 && errno != EEXIST) {
    if (errno != ENOENT) return file_error("making the directory", writer.folder_, errno);
    return fail(ErrorCode::kStorageFailure, "The api and the " + writer.part_.name +
                                                " store do not see the same directory " +
                                                unfinished.parent_path().string() +
                                                ". Name one that both reach under this name and may write to; a "
                                                "service of systemd has a /tmp of its own.");
  }
  writer.folders_.insert(writer.folder_);
  if (previous.empty()) return writer;
  // If the list of the previous backup cannot be read, everything is copied anew.
  if (auto list = read_list(previous, writer.part_.name)) {
    writer.previous_ = std::move(*list);
    writer.previous_folder_ = previous / writer.part_.name;
  }
  return writer;
}

Result<void> PartWriter::add(const fs::path& source, const std::string& path) {
  struct stat found = {};
  if (::stat(source.c_str(), &found) != 0) {
    if (errno == ENOENT) return fail(ErrorCode::kNotFound, "There is no file " + source.string() + ".");
    return file_error("reading", source, errno);
  }
  const auto target = folder_ / path;
  if (!folders_.contains(target.parent_path())) {
    TRY(make_directories(target.parent_path()));
    for (auto at = target.parent_path(); folders_.insert(at).second; at = at.parent_path()) {
    }
  }
  ListedFile file{{}, static_cast<std::uint64_t>(found.st_size), modified_ns(found)};
  const auto before = previous_.find(path);
  const bool same =
      before != previous_.end() && before->second.size == file.size && before->second.modified_ns == file.modified_ns;
  const auto kept = previous_folder_ / path;
  struct stat in_backup = {};
  if (same && ::stat(kept.c_str(), &in_backup) == 0 && in_backup.st_size == found.st_size &&
      ::link(kept.c_str(), target.c_str()) == 0) {
    file.sha256 = before->second.sha256;
  } else {
    file.sha256 = TRY(keep(source, target));
    ++part_.new_files;
    part_.new_bytes += file.size;
  }
  ++part_.files;
  part_.bytes += file.size;
  files_.emplace(path, std::move(file));
  return {};
}

/// Links or copies the file, and returns the SHA-256 of `target`.
Result<std::string> PartWriter::keep(const fs::path& source, const fs::path& target) {
  if (::link(source.c_str(), target.c_str()) != 0) {
    if (may_not_link(errno)) return copy_durably(source, target);
    return file_error("linking", target, errno);
  }
  const Descriptor linked(::open(target.c_str(), O_RDONLY | O_CLOEXEC));
  if (!linked) return file_error("opening", target, errno);
  auto sum = TRY(sum_of_file(linked, target));
  if (::fdatasync(linked.get()) != 0) return file_error("syncing", target, errno);
  return sum;
}

Result<Part> PartWriter::finish() {
  const auto text = encode_list(files_);
  part_.list_sha256 = hex_encode(sha256(text));
  TRY(write_file(list_path(unfinished_, part_.name), text));
  for (const auto& folder : folders_) TRY(sync_directory(folder));
  return part_;
}

}  // namespace tidemark::backup
