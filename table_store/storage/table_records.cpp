#include "table_store/storage/table_records.h"

namespace tidemark::table_store {
namespace {

constexpr std::uint8_t kHasSourceVersion = 1;
constexpr std::uint8_t kHasOperation = 2;
constexpr std::uint8_t kIsRestored = 4;
constexpr std::uint8_t kHasOrigin = 8;
constexpr std::uint8_t kAllEntityFlags = kHasSourceVersion | kHasOperation | kIsRestored | kHasOrigin;

}  // namespace

std::string encode_entity(Version version, std::optional<Version> source_version, std::string_view block,
                          std::string_view operation, bool restored, const std::optional<OriginView>& origin) {
  constexpr std::size_t kLargestHead = 32;
  std::size_t of_origin = 0;
  if (origin) of_origin = origin->follower.size() + origin->partition_key.size() + origin->row_key.size();
  std::string bytes;
  bytes.reserve(kLargestHead + operation.size() + of_origin + block.size());
  ByteWriter out(bytes);
  out.u8(kFormat);
  out.u8(static_cast<std::uint8_t>((source_version ? kHasSourceVersion : 0) | (operation.empty() ? 0 : kHasOperation) |
                                   (restored ? kIsRestored : 0) | (origin ? kHasOrigin : 0)));
  out.i64(version);
  if (source_version) out.i64(*source_version);
  if (!operation.empty()) out.string(operation);
  if (origin) {
    for (const auto part : {origin->follower, origin->partition_key, origin->row_key}) out.string(part);
  }
  out.raw(block);
  return bytes;
}

Result<EntityView> view_entity(std::string_view bytes) {
  ByteReader in(bytes);
  EntityView view;
  const auto format = in.u8();
  const auto flags = in.u8();
  if (format != kFormat || flags > kAllEntityFlags) return corrupt_record("entity");
  view.version = in.i64();
  if ((flags & kHasSourceVersion) != 0) view.source_version = in.i64();
  if ((flags & kHasOperation) != 0) view.operation = in.string();
  if ((flags & kHasOrigin) != 0) {
    auto& origin = view.origin.emplace();
    for (auto* part : {&origin.follower, &origin.partition_key, &origin.row_key}) *part = in.string();
  }
  view.restored = (flags & kIsRestored) != 0;
  if (!in.ok()) return corrupt_record("entity");
  view.block = in.rest();
  return view;
}

Result<std::uint64_t> decode_table_generation(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.u8() != kFormat) return corrupt_record("table");
  const auto generation = in.u64();
  if (!in.ok()) return corrupt_record("table");
  return generation;
}

}  // namespace tidemark::table_store
