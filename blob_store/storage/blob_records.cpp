#include "blob_store/storage/blob_records.h"

#include "common/base/record.h"
#include "common/protocol/stored_policies.h"

namespace tidemark::blob_store::records {
namespace {

constexpr std::uint8_t kFormat = 1;

template <class Io, class Pairs>
void metadata_fields(Io& io, Pairs& metadata) {
  io.list(metadata, [&](auto& entry) {
    io.string(entry.first);
    io.string(entry.second);
  });
}

constexpr auto kContainer = record_format<Container>(kFormat, "container", [](auto& io, auto& container) {
  io.varint(container.generation);
  io.u64(container.version.ticks);
  metadata_fields(io, container.metadata);
  io.string(container.public_access);
  protocol::policy_fields(io, container.policies);
});

constexpr auto kBlob = record_format<Blob>(kFormat, "blob", [](auto& io, auto& blob) {
  io.u64(blob.version.ticks);
  io.u64(blob.created.ticks);
  io.varint(blob.size);
  auto& h = blob.headers;
  for (auto* text : {&h.type, &h.encoding, &h.language, &h.disposition, &h.cache_control, &h.md5}) io.string(*text);
  metadata_fields(io, blob.metadata);
  io.optional(blob.source_version, [&](auto& version) { io.i64(version); });
});

constexpr auto kExtents = record_format<std::vector<Extent>>(kFormat, "extents", [](auto& io, auto& extents) {
  io.list(extents, [&](auto& extent) {
    io.varint(extent.payload);
    io.varint(extent.size);
    io.string(extent.block_id);
  });
});

constexpr auto kStagedBlock = record_format<StagedBlock>(kFormat, "staged block", [](auto& io, auto& block) {
  io.varint(block.payload);
  io.varint(block.size);
});

constexpr auto kStagedSummary = record_format<StagedSummary>(kFormat, "staged summary", [](auto& io, auto& summary) {
  io.varint(summary.id_length);
  io.varint(summary.count);
  io.time(summary.last_staged);
});

}  // namespace

std::string encode(const Container& container) { return kContainer.encode(container); }
std::string encode(const Blob& blob) { return kBlob.encode(blob); }
std::string encode(const std::vector<Extent>& extents) { return kExtents.encode(extents); }
std::string encode(const StagedBlock& block) { return kStagedBlock.encode(block); }
std::string encode(const StagedSummary& summary) { return kStagedSummary.encode(summary); }

Result<Container> decode_container(std::string_view bytes) { return kContainer.decode(bytes); }
Result<Blob> decode_blob(std::string_view bytes) { return kBlob.decode(bytes); }
Result<std::vector<Extent>> decode_extents(std::string_view bytes) { return kExtents.decode(bytes); }
Result<StagedBlock> decode_staged_block(std::string_view bytes) { return kStagedBlock.decode(bytes); }
Result<StagedSummary> decode_staged_summary(std::string_view bytes) { return kStagedSummary.decode(bytes); }

std::string encode_number(std::uint64_t number) {
  std::string bytes;
  ByteWriter(bytes).u64(number);
  return bytes;
}

Result<std::uint64_t> decode_number(std::string_view bytes) {
  ByteReader in(bytes);
  const auto number = in.u64();
  if (!in.finished()) return corrupt_record("number");
  return number;
}

}  // namespace tidemark::blob_store::records
