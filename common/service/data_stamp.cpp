#include "common/service/data_stamp.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "common/backup/durable_file.h"
#include "common/backup/restore.h"
#include "common/base/encoding.h"
#include "common/base/json.h"
#include "common/base/random.h"
#include "common/base/text.h"

namespace tidemark::service {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kMaxStampBytes = 4096;
constexpr std::size_t kMaxOwnerBytes = 64;

struct Stamp {
  std::string store, owner;
  std::uint64_t format = 0;
};

json document_of(const std::string& store, std::uint64_t format, const std::string& owner) {
  return {{"store", store}, {"format", format}, {"owner", owner}};
}

std::string sum_of(const json& document) { return hex_encode(sha256(document.dump())); }

Result<Stamp> read_stamp(const fs::path& path) {
  const auto text = TRY(backup::read_file(path, kMaxStampBytes));
  auto document = json_or_discarded(text);
  const auto has = [&](const char* name) { return document.contains(name) && document[name].is_string(); };
  const auto damage = fail(ErrorCode::kCorruption,
                           "The file " + path.string() + " is damaged. Put it back from a backup of this directory.");
  if (!document.is_object() || !has("store") || !has("owner") || !has("sha256")) return damage;
  if (!document.contains("format") || !document["format"].is_number_unsigned()) return damage;
  const auto sum = document["sha256"].get<std::string>();
  document.erase("sha256");
  if (sum_of(document) != sum) return damage;
  return Stamp{document["store"], document["owner"], document["format"].get<std::uint64_t>()};
}

Result<void> check_stamp(const Stamp& stamp, const fs::path& folder, const StampOf& expected) {
  if (stamp.store != expected.store) {
    return fail(ErrorCode::kConfigInvalid, fmt::format("{} has the data of another store ({}), not of {}.",
                                                       folder.string(), stamp.store, expected.store));
  }
  if (stamp.format > expected.format) {
    return fail(ErrorCode::kConfigInvalid,
                fmt::format("{} has format {}, which a newer version of this program wrote; this one reads format {}. "
                            "Use that version, or restore a backup that was made before the upgrade.",
                            folder.string(), stamp.format, expected.format));
  }
  if (stamp.format < expected.format) {
    return fail(ErrorCode::kConfigInvalid,
                fmt::format("{} has format {} of an older version, which this one does not read; it reads format {}. "
                            "Use the older version to copy what you need, and begin with an empty directory.",
                            folder.string(), stamp.format, expected.format));
  }
  return {};
}

Result<std::string> read_owner(const fs::path& data) {
  const auto text = TRY(backup::read_file(data / "owner", kMaxOwnerBytes));
  std::string owner(trimmed(text));
  if (owner.empty()) return fail(ErrorCode::kCorruption, "The file " + (data / "owner").string() + " is empty.");
  return owner;
}

/// The owner of the directory; a new directory becomes `suggested`'s.
Result<std::string> owner_of(const fs::path& data, const std::string& suggested, bool make) {
  auto owner = read_owner(data);
  if (!make || !owner.failed_with(ErrorCode::kNotFound)) {
    return owner.failed_with(ErrorCode::kNotFound) ? Result<std::string>(suggested) : owner;
  }
  TRY(backup::write_file_once(data / "owner", suggested + "\n"));
  return read_owner(data);
}

}  // namespace

Result<FolderStamp> check_folder(const fs::path& data, const StampOf& expected, bool make) {
  std::error_code unknown;
  if (fs::exists(data / backup::kRestoringName, unknown)) {
    return fail(ErrorCode::kConfigInvalid, "A restore into " + data.string() +
                                               " has not finished: empty the directory and restore the backup again.");
  }
  const auto folder = data / expected.store;
  auto stamp = read_stamp(folder / kStampName);
  if (!stamp && !stamp.failed_with(ErrorCode::kNotFound)) return fail(std::move(stamp.error()));
  if (stamp) TRY(check_stamp(*stamp, folder, expected));
  const auto owner = TRY(owner_of(data, stamp ? stamp->owner : make_system_random()->guid(), make));
  if (stamp && stamp->owner != owner) {
    return fail(ErrorCode::kConfigInvalid,
                fmt::format("{} belongs to the stack {}, and {} to the stack {}: the folders of a data directory "
                            "belong together. Put the right one there.",
                            folder.string(), stamp->owner, data.string(), owner));
  }
  return FolderStamp{owner, stamp.has_value()};
}

Result<void> stamp_folder(const fs::path& data, const StampOf& stamp, const std::string& owner) {
  auto document = document_of(stamp.store, stamp.format, owner);
  document["sha256"] = sum_of(document);
  return backup::write_file(data / stamp.store / kStampName, document.dump() + "\n");
}

}  // namespace tidemark::service
