#include "common/backup/backup_folder.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/backup/durable_file.h"
#include "common/backup/file_list.h"
#include "common/base/random.h"

namespace tidemark::backup {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "tidemark-";
constexpr std::string_view kUnfinished = ".unfinished";

/// Returns a name such as "tidemark-20261123T054500.123Z"; names sort by time.
std::string name_at(Time now) {
  auto text = to_iso8601_7digits(now);  // 2026-11-23T05:45:00.1234567Z
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return std::string(kPrefix) + text.substr(0, text.find('.') + 4) + "Z";
}

std::vector<std::string> names_in(const fs::path& directory, std::error_code& failed) {
  std::vector<std::string> names;
  auto entry = fs::directory_iterator(directory, failed);
  for (; !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
    names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

/// Checks that the files of the part are there. They are missing if the store wrote into another directory of the same
/// name.
Result<void> check_part(const fs::path& unfinished, const Part& part) {
  for (const auto& [path, file] : TRY(read_list(unfinished, part.name, part.list_sha256))) {
    std::error_code missing;
    const auto copied = unfinished / part.name / path;
    if (fs::file_size(copied, missing) != file.size) {
      return fail(ErrorCode::kStorageFailure, copied.string() + " is missing, or not as it was written.");
    }
  }
  return {};
}

}  // namespace

Result<std::vector<StoredBackup>> list_backups(const fs::path& directory) {
  std::error_code failed;
  const auto names = names_in(directory, failed);
  if (failed == std::errc::no_such_file_or_directory) {
    return fail(ErrorCode::kNotFound, "There is no directory " + directory.string() + ".");
  }
  if (failed) return file_error("reading the directory", directory, failed.value());
  std::vector<StoredBackup> found;
  for (const auto& name : names) {
    if (!name.starts_with(kPrefix)) continue;
    auto manifest = read_manifest(directory / name);
    found.push_back({name, manifest.value_or(Manifest()), manifest ? "" : manifest.error().message});
  }
  return found;
}

NewBackup::NewBackup(fs::path directory, std::string name, Descriptor lock)
    : directory_(std::move(directory)),
      name_(std::move(name)),
      unfinished_(directory_ / ("." + name_ + "." + make_system_random()->guid() + std::string(kUnfinished))),
      lock_(std::move(lock)) {}

NewBackup::~NewBackup() {
  if (!lock_) return;
  std::error_code left;
  fs::remove_all(unfinished_, left);
}

Result<NewBackup> NewBackup::begin(const fs::path& directory, Time now) {
  TRY(make_directories(directory));
  Descriptor lock(::open((directory / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return file_error("making", directory / ".lock", errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(ErrorCode::kServerBusy, "Another backup is being made in " + directory.string() + ".");
  }
  // Removes the leftovers of a process that died; the lock shows that no other is at work here.
  std::error_code failed;
  for (const auto& name : names_in(directory, failed)) {
    if (name.starts_with("." + std::string(kPrefix)) && name.ends_with(kUnfinished))
      fs::remove_all(directory / name, failed);
  }
  NewBackup made(directory, name_at(now), std::move(lock));
  if (fs::exists(directory / made.name_, failed)) {
    return fail(ErrorCode::kServerBusy, "There is a backup of this moment in " + directory.string() + " already.");
  }
  TRY(make_directories(made.unfinished_));
  return made;
}

fs::path NewBackup::previous(const std::string& owner) const {
  const auto all = list_backups(directory_);
  if (!all) return {};
  for (auto backup = all->rbegin(); backup != all->rend(); ++backup) {
    if (backup->trouble.empty() && backup->manifest.owner == owner) return directory_ / backup->name;
  }
  return {};
}

Result<void> NewBackup::finish(const Manifest& manifest) {
  for (const auto& part : manifest.parts) TRY(check_part(unfinished_, part));
  TRY(write_file(unfinished_ / "manifest.json", encode_manifest(manifest)));
  TRY(sync_directory(unfinished_));
  const auto complete = directory_ / name_;
  if (::rename(unfinished_.c_str(), complete.c_str()) != 0) return file_error("making", complete, errno);
  return sync_directory(directory_);
}

Result<std::size_t> NewBackup::remove_older(std::size_t keep, const std::string& owner) const {
  auto all = TRY(list_backups(directory_));
  std::erase_if(
      all, [&](const StoredBackup& b) { return b.name == name_ || !b.trouble.empty() || b.manifest.owner != owner; });
  // Backups with later names were made while the clock was ahead.
  std::ranges::rotate(all, std::ranges::upper_bound(all, name_, {}, &StoredBackup::name));
  const auto many = all.size() >= keep ? all.size() - keep + 1 : 0;
  for (std::size_t i = 0; i < many; ++i) {
    // The backup loses its name first, so that a partly removed one does not look complete.
    const auto going = directory_ / ("." + all[i].name + std::string(kUnfinished));
    if (::rename((directory_ / all[i].name).c_str(), going.c_str()) != 0) {
      return file_error("removing", directory_ / all[i].name, errno);
    }
    std::error_code failed;
    fs::remove_all(going, failed);
    if (failed) return file_error("removing", going, failed.value());
  }
  if (many > 0) TRY(sync_directory(directory_));
  return many;
}

}  // namespace tidemark::backup
