#include "common/backup/restore.h"

#include <fcntl.h>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "common/backup/durable_file.h"
#include "common/backup/file_list.h"
#include "common/base/data_formats.h"

namespace tidemark::backup {
namespace {

namespace fs = std::filesystem;

Result<void> check_formats(const Manifest& manifest) {
  for (const auto& part : manifest.parts) {
    const auto newest = data_format_of(part.name);
    if (part.format <= newest) continue;
    return fail(ErrorCode::kConfigInvalid,
                fmt::format("The data of the {} store in the backup has format {}, made by a newer version; this one "
                            "reads formats up to {}.",
                            part.name, part.format, newest));
  }
  return {};
}

Result<void> check_empty(const fs::path& data) {
  std::error_code failed;
  auto entry = fs::directory_iterator(data, failed);
  for (; !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
    if (entry->path().filename() == "lost+found") continue;
    return fail(ErrorCode::kConfigInvalid, "The directory " + data.string() +
                                               " is not empty: a backup is restored into an empty directory. Move "
                                               "what is there away, or name another one.");
  }
  if (failed && failed != std::errc::no_such_file_or_directory) return file_error("reading", data, failed.value());
  return {};
}

std::unexpected<Error> damaged(const fs::path& file, const std::string& what) {
  return fail(ErrorCode::kCorruption, "The backup is damaged: " + file.string() + " " + what + ".");
}

Result<void> restore_part(const fs::path& backup, const Part& part, const fs::path& data) {
  std::set<fs::path> folders{data / part.name};
  TRY(make_directories(data / part.name));
  for (const auto& [path, file] : TRY(read_list(backup, part.name, part.list_sha256))) {
    const auto from = backup / part.name / path;
    const auto to = data / part.name / path;
    if (!folders.contains(to.parent_path())) TRY(make_directories(to.parent_path()));
    for (auto at = to.parent_path(); folders.insert(at).second; at = at.parent_path()) {
    }
    std::error_code missing;
    if (!fs::exists(from, missing)) return damaged(from, "is missing");
    if (TRY(copy_durably(from, to)) != file.sha256) return damaged(from, "has other bytes than when it was made");
  }
  for (const auto& folder : folders) TRY(sync_directory(folder));
  return {};
}

/// Gives files that root has restored to the owner of the directory.
Result<void> give_to_owner_of(const fs::path& data) {
  struct stat owner = {};
  if (::stat(data.c_str(), &owner) != 0) return file_error("reading", data, errno);
  std::error_code failed;
  auto entry = fs::recursive_directory_iterator(data, failed);
  for (; !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
    const auto& path = entry->path();
    if (path.filename() == "lost+found") {
      entry.disable_recursion_pending();
    } else if (::lchown(path.c_str(), owner.st_uid, owner.st_gid) != 0) {
      return file_error("giving to the owner of the directory", path, errno);
    }
  }
  return failed ? file_error("reading", data, failed.value()) : Result<void>();
}

Result<void> restore_parts(const fs::path& backup, const Manifest& manifest, const fs::path& data) {
  for (const auto& part : manifest.parts) TRY(restore_part(backup, part, data));
  TRY(write_file(data / "owner", manifest.owner + "\n"));
  return ::geteuid() == 0 ? give_to_owner_of(data) : Result<void>();
}

void empty(const fs::path& data, const Manifest& manifest) {
  std::error_code failed;
  for (const auto& part : manifest.parts) fs::remove_all(data / part.name, failed);
  fs::remove(data / "owner", failed);
  fs::remove(data / kRestoringName, failed);
}

/// Describes the damage of a file; empty if it is intact.
Result<std::string> trouble_with(const fs::path& path, const ListedFile& listed) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::string("is missing");
  if (!file) return file_error("opening", path, errno);
  return TRY(sum_of_file(file, path)) == listed.sha256 ? std::string()
                                                       : std::string("has other bytes than when it was made");
}

}  // namespace

Result<Manifest> restore(const fs::path& backup, const fs::path& data) {
  auto manifest = TRY(read_manifest(backup));
  TRY(check_formats(manifest));
  TRY(check_empty(data));
  TRY(make_directories(data));
  TRY(write_file(data / kRestoringName, "A restore into this directory has not finished.\n"));
  if (auto done = restore_parts(backup, manifest, data); !done) {
    empty(data, manifest);
    return fail(std::move(done.error()));
  }
  std::error_code failed;
  fs::remove(data / kRestoringName, failed);
  if (failed) return file_error("removing", data / kRestoringName, failed.value());
  TRY(sync_directory(data));
  return manifest;
}

Result<Manifest> verify(const fs::path& backup, const TellDamage& found) {
  auto manifest = TRY(read_manifest(backup));
  for (const auto& part : manifest.parts) {
    const auto list = read_list(backup, part.name, part.list_sha256);
    if (!list) {
      found(part.name + ".files", list.error().message);
      continue;
    }
    for (const auto& [path, listed] : *list) {
      const auto trouble = TRY(trouble_with(backup / part.name / path, listed));
      if (!trouble.empty()) found(part.name + "/" + path, trouble);
    }
  }
  return manifest;
}

}  // namespace tidemark::backup
