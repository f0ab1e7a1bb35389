// The keyspace of the blob store. text and u64 as in common/kv/key_codec.h; one leading byte names the kind.
// The key 'a' is everywhere that of common/kv/age_clock.h.
//   'A' account(text)                                       service properties
//   'B' generation(u64) name(bytes, to the end)             blob: headers, metadata, version, size
//   'C' account(text) container(text)                       container record with its generation
//   'D' payload(u64)                                        dead payload: its chunks are to be erased
//   'G' generation(u64)                                     dead generation: a deleted container
//   'I' 'n' / 'I' 'v'                                       next id (u64) / last version (u64)
//   'K' generation(u64) name(text) block id(text)           staged block: payload, size
//   'L' account(text) operation id(bytes, to the end)       ledger of a worker's operation: common/base
//   'l' the key of a ledger                                 since when it has not changed: common/kv/fading_rows.h
//   'P' payload(u64) chunk(u64)                             crc32c (4 bytes, little-endian), then up to 256 KiB
//   'Q' payload(u64)                                        pending payload: being written, start time
//   'U' generation(u64) name(text)                          staged blocks of a blob: length of ids, count, last time
//   'X' generation(u64) name(bytes, to the end)             extents of a blob
//
// Generations and payload ids come from one counter and are never used again, so the key of anything that was deleted
// can never name something else. A payload is at any time either pending ('Q'), referred to by exactly one blob ('X')
// or staged block ('K'), or dead ('D'); each move is part of the transaction that causes it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/kv/key_codec.h"

namespace tidemark::blob_store::blob_keys {

using kv::Text;

inline constexpr std::size_t kChunkBytes = 256UL << 10;
inline constexpr char kServiceProperties = 'A';
inline constexpr char kDroppedGeneration = 'G';
inline constexpr std::string_view kNextId = "In";
inline constexpr std::string_view kLastVersion = "Iv";

inline std::string container(std::string_view account, std::string_view name) {
  return kv::key('C', Text{account}, Text{name});
}
/// Containers of an account whose names begin with `prefix` and are not before `from`.
kv::KeyRange containers(std::string_view account, std::string_view prefix, std::string_view from);
std::optional<std::string> container_name(std::string_view key);

inline std::string blob(std::uint64_t generation, std::string_view name) { return kv::key('B', generation, name); }
inline std::string extents(std::uint64_t generation, std::string_view name) { return kv::key('X', generation, name); }
std::string_view blob_name(std::string_view key);
/// Blobs whose names begin with `prefix` and are not before `from`.
kv::KeyRange blobs(std::uint64_t generation, std::string_view prefix, std::string_view from);

inline std::string staged_summary(std::uint64_t generation, std::string_view name) {
  return kv::key('U', generation, Text{name});
}
inline std::string staged_block(std::uint64_t generation, std::string_view name, std::string_view block_id) {
  return kv::key('K', generation, Text{name}, Text{block_id});
}
inline kv::KeyRange staged_blocks(std::uint64_t generation, std::string_view name) {
  return kv::under(kv::key('K', generation, Text{name}));
}
std::optional<std::string> block_id(std::string_view staged_key);
/// The blob whose staged blocks a summary counts.
struct StagedBlob {
  std::uint64_t generation = 0;
  std::string name;
};
std::optional<StagedBlob> staged_blob(std::string_view summary_key);

inline std::string ledger(std::string_view account, std::string_view operation_id) {
  return kv::key('L', Text{account}, operation_id);
}

inline std::string chunk(std::uint64_t payload, std::uint64_t index) { return kv::key('P', payload, index); }
inline kv::KeyRange chunks(std::uint64_t payload) { return kv::under(kv::key('P', payload)); }
inline std::string pending(std::uint64_t payload) { return kv::key('Q', payload); }
inline std::string dead(std::uint64_t payload) { return kv::key('D', payload); }
/// All keys of a kind, or those with one number, for kinds whose keys begin with a number.
inline kv::KeyRange all(char kind) { return kv::under(kv::key(kind)); }
inline kv::KeyRange all(char kind, std::uint64_t number) { return kv::under(kv::key(kind, number)); }
/// The number after the kind; 0 if there is none.
std::uint64_t number(std::string_view key);

}  // namespace tidemark::blob_store::blob_keys
