#include "blob_store/model/blob.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/base/encoding.h"
#include "common/base/text.h"

namespace tidemark::blob_store {
namespace {
constexpr std::array<std::string_view, 4> kBlockTiers = {"Hot", "Cool", "Cold", kArchive};
constexpr std::array<std::string_view, 11> kPageTiers = {"P4",  "P6",  "P10", "P15", "P20", "P30",
                                                         "P40", "P50", "P60", "P70", "P80"};
constexpr std::int64_t kTicksFromYear1To1970 = 621'355'968'000'000'000;

/// Tells whether the time in the text has a finer fraction than a tick.
bool was_rounded(std::string_view text) {
  constexpr std::size_t kPoint = 19, kEnd = 27;
  return text.size() > kEnd && text[kPoint] == '.' && text.find_first_not_of("0123456789", kPoint + 1) > kEnd;
}

}  // namespace

std::string_view name_of(BlobType type) {
  return type == BlobType::kAppend ? "AppendBlob" : type == BlobType::kPage ? "PageBlob" : "BlockBlob";
}

std::optional<std::string_view> find_tier(std::string_view name) {
  const auto is_name = [name](std::string_view tier) { return iequals_ascii(name, tier); };
  if (const auto* tier = std::ranges::find_if(kBlockTiers, is_name); tier != kBlockTiers.end()) return *tier;
  if (const auto* tier = std::ranges::find_if(kPageTiers, is_name); tier != kPageTiers.end()) return *tier;
  return std::nullopt;
}

bool may_have_tier(BlobType type, std::string_view tier) {
  if (type == BlobType::kBlock) return std::ranges::find(kBlockTiers, tier) != kBlockTiers.end();
  return type == BlobType::kPage && std::ranges::find(kPageTiers, tier) != kPageTiers.end();
}

Time Stamp::time() const { return Time(Ticks(static_cast<std::int64_t>(ticks) - kTicksFromYear1To1970)); }
std::string Stamp::snapshot() const { return to_iso8601_7digits(time()); }
std::optional<Stamp> Stamp::parse_snapshot(std::string_view text) {
  const auto time = parse_iso8601(text);
  return time && !was_rounded(text) ? std::optional(at(*time)) : std::nullopt;
}
std::string Stamp::etag() const { return fmt::format("0x{:015X}", ticks); }
Stamp Stamp::at(Time time) {
  return {static_cast<std::uint64_t>(time.time_since_epoch().count() + kTicksFromYear1To1970)};
}

Blob blob_of(NewContent content, Time now) {
  Blob blob;
  blob.headers = std::move(content.headers);
  blob.metadata = std::move(content.metadata);
  blob.tags = std::move(content.tags);
  blob.tier = std::move(content.tier);
  if (!blob.tier.empty()) blob.tier_changed = now;
  return blob;
}

}  // namespace tidemark::blob_store
