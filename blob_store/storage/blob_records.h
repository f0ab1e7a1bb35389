// The encoding of the stored values, which begin with a format number. Errors: kCorruption.
#pragma once
#include "blob_store/model/blob.h"
#include "blob_store/model/block_list.h"
#include "blob_store/storage/contents.h"
#include "blob_store/storage/kept_blobs.h"
#include "common/base/record.h"
#include "common/protocol/stored_policies.h"

namespace tidemark::blob_store::records {

struct StagedSummary {
  std::uint64_t id_length = 0;
  std::uint64_t count = 0;
  Time last_staged{};
};

inline constexpr std::uint8_t kFormat = 2;

template <class Io, class Pairs>
void pair_fields(Io& io, Pairs& pairs) {
  io.list(pairs, [&](auto& entry) {
    io.string(entry.first);
    io.string(entry.second);
  });
}

inline bool has_rare_fields(const Blob& blob) {
  return !blob.tags.empty() || !blob.lease.id.empty() || !blob.tier.empty() || blob.copy || blob.appended_blocks > 0 ||
         blob.sealed || blob.sequence_number > 0 || blob.source_version;
}

template <class Io, class Lease>
void lease_fields(Io& io, Lease& lease) {
  io.string(lease.id);
  io.i64(lease.duration_s);
  io.time(lease.ends);
  io.optional(lease.breaks, [&](auto& time) { io.time(time); });
}

inline constexpr auto kContainer = record_format<Container>(kFormat, "container", [](auto& io, auto& container) {
  io.varint(container.generation);
  io.u64(container.version.ticks);
  pair_fields(io, container.metadata);
  io.string(container.public_access);
  protocol::policy_fields(io, container.policies);
  lease_fields(io, container.lease);
});

/// Fields that most blobs do not have are behind one byte of flags.
template <class Io, class Blob>
void rare_fields(Io& io, Blob& blob) {
  pair_fields(io, blob.tags);
  lease_fields(io, blob.lease);
  io.string(blob.tier);
  io.time(blob.tier_changed);
  io.optional(blob.copy, [&](auto& copy) {
    io.string(copy.id);
    io.string(copy.source);
    io.time(copy.completed);
  });
  io.varint(blob.appended_blocks);
  io.boolean(blob.sealed);
  io.varint(blob.sequence_number);
  io.optional(blob.source_version, [&](auto& version) { io.i64(version); });
}

template <class Io, class Blob>
void blob_fields(Io& io, Blob& blob) {
  io.u8(blob.type);
  io.u64(blob.version.ticks);
  io.u64(blob.created.ticks);
  io.varint(blob.size);
  io.varint(blob.content.id);
  io.boolean(blob.content.whole);
  io.boolean(blob.content.shared);
  auto& h = blob.headers;
  for (auto* text : {&h.type, &h.encoding, &h.language, &h.disposition, &h.cache_control, &h.md5}) io.string(*text);
  pair_fields(io, blob.metadata);
  bool rare = has_rare_fields(blob);  // when the record is read, the byte decides
  io.boolean(rare);
  if (rare) rare_fields(io, blob);
}

inline constexpr auto kBlob = record_format<Blob>(kFormat, "blob", [](auto& io, auto& blob) { blob_fields(io, blob); });

inline constexpr auto kKeptBlob = record_format<KeptBlob>(kFormat, "kept blob", [](auto& io, auto& kept) {
  io.boolean(kept.snapshot);
  io.optional(kept.deleted, [&](auto& time) { io.time(time); });
  io.varint(kept.retained_days);
  blob_fields(io, kept.blob);
});

inline constexpr auto kKeptMark = record_format<KeptMark>(kFormat, "mark of kept blobs", [](auto& io, auto& mark) {
  io.u8(mark.what);
  io.u64(mark.through.ticks);
  io.time(mark.at);
  io.varint(mark.days);
});

/// The start of the extent is in the key.
inline constexpr auto kExtent = record_format<Extent>(kFormat, "extent", [](auto& io, auto& extent) {
  io.varint(extent.size);
  io.varint(extent.payload);
  io.varint(extent.from);
  io.string(extent.block_id);
});

inline constexpr auto kDead = record_format<Dead>(kFormat, "dead content", [](auto& io, auto& dead) {
  io.u8(dead.kind);
  io.varint(dead.read_through);
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
