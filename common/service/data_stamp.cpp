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
  std::string store, owner, engine;
  std::uint64_t format = 0;
  shards::Placement placement = {};
};

std::string sum_of(const json& document) { return hex_encode(sha256(document.dump())); }

/// Reads the placement: one shard if the document names none; nothing if the document is malformed.
std::optional<shards::Placement> placement_in(const json& document) {
  if (!document.contains("shards")) return shards::Placement();
  if (!document["shards"].is_number_unsigned() || !document.value("placement", json()).is_string()) return std::nullopt;
  const auto shards = document["shards"].get<std::uint64_t>();
  const auto bytes = hex_decode(document["placement"].get<std::string>());
  shards::Placement::Key key{};
  if (shards < 2 || shards > shards::kMaxShards || !bytes || bytes->size() != key.size()) return std::nullopt;
  std::ranges::copy(*bytes, key.begin());
  return shards::Placement(static_cast<std::size_t>(shards), key);
}

shards::Placement new_placement(std::size_t shards) {
  if (shards <= 1) return {};
  shards::Placement::Key key{};
  const auto random = make_system_random();
  for (auto& byte : key) byte = static_cast<std::uint8_t>(random->below(256));
  return {shards, key};
}

Result<Stamp> parse_stamp(const std::string& text, const std::string& where) {
  auto document = json_or_discarded(text);
  const auto has = [&](const char* name) { return document.contains(name) && document[name].is_string(); };
  const auto damage =
      fail(ErrorCode::kCorruption, "What " + where + " says about itself is damaged. Put it back from a backup.");
  if (!document.is_object() || !has("store") || !has("owner") || !has("sha256")) return damage;
  if (document.contains("engine") && !has("engine")) return damage;
  if (!document.contains("format") || !document["format"].is_number_unsigned()) return damage;
  const auto sum = document["sha256"].get<std::string>();
  document.erase("sha256");
  if (sum_of(document) != sum) return damage;
  const auto placement = placement_in(document);
  if (!placement) return damage;
  return Stamp{document["store"], document["owner"], document.value("engine", StampOf().engine),
               document["format"].get<std::uint64_t>(), *placement};
}

Result<void> check(const Stamp& stamp, const std::string& where, const StampOf& expected) {
  if (stamp.store != expected.store) {
    return fail(ErrorCode::kConfigInvalid,
                fmt::format("{} has the data of another store ({}), not of {}.", where, stamp.store, expected.store));
  }
  if (stamp.engine != expected.engine) {
    return fail(ErrorCode::kConfigInvalid,
                fmt::format("{} belongs to a store that keeps its rows with engine {}, and the setting engine says {}. "
                            "Rows do not move by themselves: set engine to {}, or begin with an empty directory.",
                            where, stamp.engine, expected.engine, stamp.engine));
  }
  if (const auto shards = stamp.placement.shards(); expected.shards != 0 && expected.shards != shards) {
    return fail(ErrorCode::kConfigInvalid,
                fmt::format("{} was made with shards={}, and the setting says {}. The number never changes: remove "
                            "the setting, or begin with an empty directory.",
                            where, shards, expected.shards));
  }
  if (stamp.format > expected.format) {
    return fail(ErrorCode::kConfigInvalid,
                fmt::format("{} has format {}, which a newer version of this program wrote; this one reads format {}. "
                            "Use that version, or restore a backup that was made before the upgrade.",
                            where, stamp.format, expected.format));
  }
  if (stamp.format < expected.format) {
    return fail(ErrorCode::kConfigInvalid,
                fmt::format("{} has format {} of an older version, which this one does not read; it reads format {}. "
                            "Use the older version to copy what you need, and begin with an empty directory.",
                            where, stamp.format, expected.format));
  }
  return {};
}

Result<std::string> read_owner(const fs::path& data) {
  const auto text = TRY(backup::read_file(data / "owner", kMaxOwnerBytes));
  std::string owner(trimmed(text));
  if (owner.empty()) return fail(ErrorCode::kCorruption, "The file " + (data / "owner").string() + " is empty.");
  return owner;
}

/// Returns the owner of the directory. A new directory gets `suggested` as its owner.
Result<std::string> owner_of(const fs::path& data, const std::string& suggested, bool make) {
  auto owner = read_owner(data);
  if (!make || !owner.failed_with(ErrorCode::kNotFound)) {
    return owner.failed_with(ErrorCode::kNotFound) ? Result<std::string>(suggested) : owner;
  }
  TRY(backup::write_file_once(data / "owner", suggested + "\n"));
  return read_owner(data);
}

}  // namespace

Result<FolderStamp> check_folder(const fs::path& data, const StampOf& expected, bool make,
                                 std::optional<FolderStamp> suggested) {
  std::error_code unknown;
  if (fs::exists(data / backup::kRestoringName, unknown)) {
    return fail(ErrorCode::kConfigInvalid, "A restore into " + data.string() +
                                               " has not finished: empty the directory and restore the backup again.");
  }
  const auto folder = data / expected.store;
  const auto text = backup::read_file(folder / kStampName, kMaxStampBytes);
  if (!text && !text.failed_with(ErrorCode::kNotFound)) return fail(text.error());
  FolderStamp stamp;
  if (text) {
    const auto parsed = TRY(parse_stamp(*text, "the file " + (folder / kStampName).string()));
    TRY(check(parsed, folder.string(), expected));
    stamp = {parsed.owner, true, parsed.placement};
  } else {
    stamp = suggested ? *suggested : FolderStamp{make_system_random()->guid(), false, new_placement(expected.shards)};
    stamp.stamped = false;
  }
  const auto owner = TRY(owner_of(data, stamp.owner, make));
  if (stamp.stamped && stamp.owner != owner) {
    return fail(ErrorCode::kConfigInvalid,
                fmt::format("{} belongs to the stack {}, and {} to the stack {}: the folders of a data directory "
                            "belong together. Put the right one there.",
                            folder.string(), stamp.owner, data.string(), owner));
  }
  stamp.owner = owner;
  return stamp;
}

Result<void> stamp_folder(const fs::path& data, const StampOf& stamp, const FolderStamp& found) {
  return backup::write_file(data / stamp.store / kStampName, make_stamp(stamp, found) + "\n");
}

std::string make_stamp(const StampOf& stamp, const FolderStamp& found) {
  json document{{"store", stamp.store}, {"format", stamp.format}, {"owner", found.owner}};
  if (found.placement.shards() > 1) {
    const auto& key = found.placement.key();
    document["shards"] = found.placement.shards();
    document["placement"] = hex_encode(std::string(key.begin(), key.end()));
  }
  if (stamp.engine != StampOf().engine) document["engine"] = stamp.engine;
  document["sha256"] = sum_of(document);
  return document.dump();
}

Result<FolderStamp> check_stamp(const std::string& text, const std::string& where, const StampOf& expected) {
  auto stamp = TRY(parse_stamp(text, where));
  TRY(check(stamp, where, expected));
  return FolderStamp{std::move(stamp.owner), true, stamp.placement};
}

}  // namespace tidemark::service
