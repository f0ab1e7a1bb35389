#include "common/backup/manifest.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "common/backup/durable_file.h"
#include "common/base/encoding.h"
#include "common/base/json.h"

namespace tidemark::backup {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxManifestBytes = 4UL << 20;

std::string sum_of(const json& document) { return hex_encode(sha256(document.dump())); }

bool is_part_name(const std::string& name) {
  return !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
}

Part part_of(const json& entry) {
  return {.name = entry.at("name").get<std::string>(),
          .format = entry.at("format").get<std::uint32_t>(),
          .list_sha256 = entry.at("listSha256").get<std::string>(),
          .files = entry.at("files").get<std::uint64_t>(),
          .bytes = entry.at("bytes").get<std::uint64_t>(),
          .new_files = entry.at("newFiles").get<std::uint64_t>(),
          .new_bytes = entry.at("newBytes").get<std::uint64_t>(),
          .held_us = entry.at("heldMicroseconds").get<std::uint64_t>()};
}

Manifest manifest_of(const json& document) {
  Manifest manifest;
  manifest.program = document.at("program").get<std::string>();
  manifest.owner = document.at("owner").get<std::string>();
  manifest.made = parse_iso8601(document.at("made").get<std::string>()).value();
  for (const auto& entry : document.at("parts")) {
    manifest.parts.push_back(part_of(entry));
    if (!is_part_name(manifest.parts.back().name)) throw std::invalid_argument("part");
  }
  return manifest;
}

}  // namespace

json to_json(const Manifest& manifest) {
  auto parts = json::array();
  for (const auto& part : manifest.parts) {
    parts.push_back({{"name", part.name},
                     {"format", part.format},
                     {"listSha256", part.list_sha256},
                     {"files", part.files},
                     {"bytes", part.bytes},
                     {"newFiles", part.new_files},
                     {"newBytes", part.new_bytes},
                     {"heldMicroseconds", part.held_us}});
  }
  return {{"format", kBackupFormat},
          {"program", manifest.program},
          {"owner", manifest.owner},
          {"made", to_iso8601(manifest.made)},
          {"parts", std::move(parts)}};
}

std::string encode_manifest(const Manifest& manifest) {
  auto document = to_json(manifest);
  document["sha256"] = sum_of(document);
  return document.dump(2) + "\n";
}

Result<Manifest> decode_manifest(std::string_view text) {
  auto document = json_or_discarded(text);
  const bool numbered = document.is_object() && document.contains("format") && document["format"].is_number_unsigned();
  const auto format = numbered ? document["format"].get<std::uint64_t>() : 0;
  const auto damage = fail(ErrorCode::kCorruption, "The manifest of the backup is damaged.");
  if (!numbered || !document.contains("sha256") || !document["sha256"].is_string()) return damage;
  const auto sum = document["sha256"].get<std::string>();
  document.erase("sha256");
  if (sum_of(document) != sum) return damage;
  if (format > kBackupFormat) {
    return fail(ErrorCode::kConfigInvalid,
                fmt::format("The backup has format {}, made by a newer version; this one reads formats up to {}.",
                            format, kBackupFormat));
  }
  try {
    return manifest_of(document);
  } catch (const std::exception&) {
    return damage;
  }
}

Result<Manifest> read_manifest(const std::filesystem::path& backup) {
  auto text = read_file(backup / "manifest.json", kMaxManifestBytes);
  if (text.failed_with(ErrorCode::kNotFound)) {
    return fail(ErrorCode::kNotFound, backup.string() + " is no backup: it has no manifest.json.");
  }
  return decode_manifest(TRY(std::move(text)));
}

}  // namespace tidemark::backup
