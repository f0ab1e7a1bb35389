// The bytes of the stored values, which begin with a format number. Errors: kCorruption.
#pragma once
#include "blob_store/model/blob.h"
#include "blob_store/model/block_list.h"
#include "common/base/record.h"
#include "common/protocol/stored_policies.h"

namespace tidemark::blob_store::records {

struct StagedSummary {
  std::uint64_t id_length = 0;
  std::uint64_t count = 0;
  Time last_staged{};
};

inline constexpr std::uint8_t kFormat = 1;

template <class Io, class Pairs>
void metadata_fields(Io& io, Pairs& metadata) {
  io.list(metadata, [&](auto& entry) {
    io.string(entry.first);
    io.string(entry.second);
  });
}

inline constexpr auto kContainer = record_format<Container>(kFormat, "container", [](auto& io, auto& container) {
  io.varint(container.generation);
  io.u64(container.version.ticks);
  metadata_fields(io, container.metadata);
  io.string(container.public_access);
  protocol::policy_fields(io, container.policies);
});

inline constexpr auto kBlob = record_format<Blob>(kFormat, "blob", [](auto& io, auto& blob) {
  io.u64(blob.version.ticks);
  io.u64(blob.created.ticks);
  io.varint(blob.size);
  auto& h = blob.headers;
  for (auto* text : {&h.type, &h.encoding, &h.language, &h.disposition, &h.cache_control, &h.md5}) io.string(*text);
  metadata_fields(io, blob.metadata);
  io.optional(blob.source_version, [&](auto& version) { io.i64(version); });
});

inline constexpr auto kExtents = record_format<std::vector<Extent>>(kFormat, "extents", [](auto& io, auto& extents) {
  io.list(extents, [&](auto& extent) {
    io.varint(extent.payload);
    io.varint(extent.size);
    io.string(extent.block_id);
  });
});

inline constexpr auto kStagedBlock = record_format<StagedBlock>(kFormat, "staged block", [](auto& io, auto& block) {
  io.varint(block.payload);
  io.varint(block.size);
});

inline constexpr auto kStagedSummary =
    record_format<StagedSummary>(kFormat, "staged summary", [](auto& io, auto& summary) {
      io.varint(summary.id_length);
      io.varint(summary.count);
      io.time(summary.last_staged);
    });

inline std::string encode_number(std::uint64_t number) {
  std::string bytes;
  ByteWriter(bytes).u64(number);
  return bytes;
}

inline Result<std::uint64_t> decode_number(std::string_view bytes) {
  ByteReader in(bytes);
  const auto number = in.u64();
  if (!in.finished()) return corrupt_record("number");
  return number;
}

}  // namespace tidemark::blob_store::records
