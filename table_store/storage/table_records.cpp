#include "table_store/storage/table_records.h"

#include "common/base/record.h"
#include "common/protocol/stored_policies.h"

namespace tidemark::table_store {
namespace {

constexpr std::uint8_t kFormat = 1;
constexpr std::uint8_t kHasSourceVersion = 1;
constexpr std::uint8_t kHasOperation = 2;
constexpr std::uint8_t kIsRestored = 4;

constexpr auto kTable = record_format<TableRecord>(kFormat, "table", [](auto& io, auto& table) {
  io.u64(table.generation);
  io.string(table.name);
  protocol::policy_fields(io, table.acl);
});

constexpr auto kCounter =
    record_format<std::uint64_t>(kFormat, "counter", [](auto& io, auto& value) { io.u64(value); });

bool read_head(ByteReader& in, EntityVersions& into) {
  if (in.u8() != kFormat) return false;
  const auto flags = in.u8();
  if (flags > (kHasSourceVersion | kHasOperation | kIsRestored)) return false;
  into.version = in.i64();
  if ((flags & kHasSourceVersion) != 0) into.source_version = in.i64();
  if ((flags & kHasOperation) != 0) into.operation = in.string();
  into.restored = (flags & kIsRestored) != 0;
  return in.ok();
}

}  // namespace

std::string encode_entity(Version version, std::optional<Version> source_version,
                          const std::vector<Property>& properties, std::string_view operation, bool restored) {
  std::string block;
  ByteWriter out(block);
  write_properties(out, properties);
  return encode_entity(version, source_version, std::string_view(block), operation, restored);
}

std::string encode_entity(Version version, std::optional<Version> source_version, std::string_view block,
                          std::string_view operation, bool restored) {
  constexpr std::size_t kLargestHead = 20;
  std::string bytes;
  bytes.reserve(kLargestHead + operation.size() + block.size());
  ByteWriter out(bytes);
  out.u8(kFormat);
  out.u8(static_cast<std::uint8_t>((source_version ? kHasSourceVersion : 0) | (operation.empty() ? 0 : kHasOperation) |
                                   (restored ? kIsRestored : 0)));
  out.i64(version);
  if (source_version) out.i64(*source_version);
  if (!operation.empty()) out.string(operation);
  out.raw(block);
  return bytes;
}

Result<void> decode_entity(std::string_view bytes, Entity& into) {
  ByteReader in(bytes);
  EntityVersions head;
  if (!read_head(in, head) || !read_properties(in, into.properties) || !in.finished()) return corrupt_record("entity");
  into.version = head.version;
  into.source_version = head.source_version;
  into.operation = head.operation;
  into.restored = head.restored;
  return {};
}

Result<EntityView> view_entity(std::string_view bytes) {
  ByteReader in(bytes);
  EntityVersions head;
  if (!read_head(in, head)) return corrupt_record("entity");
  EntityView view;
  view.version = head.version;
  view.source_version = head.source_version;
  view.operation = head.operation;
  view.restored = head.restored;
  view.block = in.rest();
  return view;
}

Result<EntityVersions> decode_entity_versions(std::string_view bytes) {
  ByteReader in(bytes);
  EntityVersions head;
  if (!read_head(in, head)) return corrupt_record("entity");
  return head;
}

std::string encode_table(const TableRecord& table) { return kTable.encode(table); }
Result<TableRecord> decode_table(std::string_view bytes) { return kTable.decode(bytes); }

Result<std::uint64_t> decode_table_generation(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.u8() != kFormat) return corrupt_record("table");
  const auto generation = in.u64();
  if (!in.ok()) return corrupt_record("table");
  return generation;
}

std::string encode_counter(std::uint64_t value) { return kCounter.encode(value); }
Result<std::uint64_t> decode_counter(std::string_view bytes) { return kCounter.decode(bytes); }

}  // namespace tidemark::table_store
