// The keyspace of the blob store. text and u64 as in common/kv/key_codec.h; one leading byte names the kind.
// The key 'a' is in all stores that of common/kv/age_clock.h; keys with 'y' are those of common/analytics/backlog.h.
// clang-format off
//   'A' account(text)                                          service properties
//   'B' generation(u64) name(bytes, to the end)                blob: headers, metadata, version, size, where its bytes are
//   'C' account(text) container(text)                          container record with its generation
//   'c' account(text) container(text)                          common/shards/catalogue_copies.h, if there are several shards
//   'D' content or payload(u64)                                dead: its kind, and the content that may still be read
//   'E' when(u64) generation(u64) name(text) version(u64)      when a retained deleted blob is removed for good
//   'F'                                                        the id of the folder of payload files, if it is shared
//   'G' generation(u64)                                        dead generation: a deleted container
//   'I' 'n' / 'I' 'v'                                          next id (u64) / last version (u64)
//   'K' generation(u64) name(text) block id(text)              staged block: payload, size
//   'L' account(text) operation id(bytes, to the end)          ledger of a worker's operation: common/base
//   'l' the key of a ledger                                    the time of its last change: common/kv/fading_rows.h
//   'P' payload(u64)                                           a payload of at most one chunk: crc32c, then its bytes
//   'Q' payload(u64)                                           pending payload: being written, start time
//   'R' content or payload(u64)                                the number of its owners beside the first
//   'S' generation(u64) name(text) version(u64)                snapshot of a blob
//   'T' generation(u64) key(text) value(text) name(bytes, to the end)   a blob has this tag: nothing
//   't' generation(u64) name(bytes, to the end)                blob has tags: nothing
//   'U' generation(u64) name(text)                             staged blocks of a blob: length of ids, count, last time
//   'V' generation(u64) name(text)                             a change of all kept blobs of a name: kept_blobs.h
//   'W' payload(u64)                                           when (u64) its file is removed again: collector.h
//   'X' content(u64) start(u64) number(u64)                    extent: size, payload, block id
//   'Z' generation(u64) name(text) version(u64)                a blob that was deleted or replaced and is retained
// clang-format on
//
// If there are several shards (docs/scale.md), the first has the containers ('C') and the service properties ('A'), and
// each has all other rows of the blobs that are on it. container_rows.h describes a shard's copies of containers.
//
// Generations, contents and payloads take their ids from one counter of each shard, which never gives one twice, so the
// key of a deleted object can never name another one. A payload is at any time either pending ('Q'), dead ('D'), or
// referred to: by a content that is whole, by extents ('X') or by a staged block ('K'). Each move is part of the
// transaction that causes it. storage/contents.h says how contents and payloads are shared.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/time.h"
#include "common/kv/key_codec.h"

namespace tidemark::blob_store::blob_keys {

using kv::Text;

inline constexpr char kServiceProperties = 'A';
inline constexpr char kContainerCopy = 'c';
inline constexpr char kDead = 'D';
inline constexpr char kDeleted = 'Z';
inline constexpr char kDroppedGeneration = 'G';
inline constexpr char kKeptMark = 'V';
inline constexpr char kLateFile = 'W';
inline constexpr char kSnapshot = 'S';
inline constexpr std::string_view kPayloadFolder = "F";
inline constexpr std::string_view kNextId = "In";
inline constexpr std::string_view kLastVersion = "Iv";

inline std::string service_properties(std::string_view account) { return kv::key(kServiceProperties, Text{account}); }
inline std::string container(std::string_view account, std::string_view name) {
  return kv::key('C', Text{account}, Text{name});
}
inline std::string container_copy(std::string_view account, std::string_view name) {
  return kv::key(kContainerCopy, Text{account}, Text{name});
}
/// The account and the name of a container.
struct ContainerKey {
  std::string account, name;
};
std::optional<ContainerKey> container_key(std::string_view key);
/// Returns the containers of an account whose names begin with `prefix` and are not before `from`.
kv::KeyRange containers(std::string_view account, std::string_view prefix, std::string_view from);
std::optional<std::string> container_name(std::string_view key);

inline std::string blob(std::uint64_t generation, std::string_view name) { return kv::key('B', generation, name); }
std::string_view blob_name(std::string_view key);
/// Returns the blobs whose names begin with `prefix` and are not before `from`.
kv::KeyRange blobs(std::uint64_t generation, std::string_view prefix, std::string_view from);

/// For kinds whose keys are (generation, name as text, ...): the beginning of the keys whose names begin with `name`.
std::string text_prefix(char kind, std::uint64_t generation, std::string_view name);
/// Returns the keys whose names begin with `prefix` and are not before `from`.
kv::KeyRange texts_from(char kind, std::uint64_t generation, std::string_view prefix, std::string_view from);
/// The blobs of a container that have this tag.
inline std::string with_tag(std::uint64_t generation, std::string_view key, std::string_view value) {
  return kv::key('T', generation, Text{key}, Text{value});
}
inline std::string tag(std::uint64_t generation, std::string_view key, std::string_view value, std::string_view name) {
  return with_tag(generation, key, value).append(name);
}
/// The blobs of a container that have any tag.
inline std::string with_tags(std::uint64_t generation) { return kv::key('t', generation); }
inline std::string tagged(std::uint64_t generation, std::string_view name) { return kv::key('t', generation, name); }

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
/// The blob whose staged blocks a summary counts, or that a mark belongs to.
struct NamedKey {
  std::uint64_t generation = 0;
  std::string name;
};
std::optional<NamedKey> named_key(std::string_view key);
/// Returns the blob that a row belongs to, for kinds whose keys have a generation and a name.
std::optional<NamedKey> blob_of_row(std::string_view key);

inline std::string ledger(std::string_view account, std::string_view operation_id) {
  return kv::key('L', Text{account}, operation_id);
}

/// `kind`: kSnapshot or kDeleted.
inline std::string kept(char kind, std::uint64_t generation, std::string_view name, std::uint64_t version) {
  return kv::key(kind, generation, Text{name}, version);
}
inline kv::KeyRange all_kept(char kind, std::uint64_t generation, std::string_view name) {
  return kv::under(kv::key(kind, generation, Text{name}));
}
inline std::string kept_mark(std::uint64_t generation, std::string_view name) {
  return kv::key(kKeptMark, generation, Text{name});
}
struct KeptKey {
  std::string name;
  std::uint64_t version = 0;
};
std::optional<KeptKey> kept_key(std::string_view key);

/// `when` is never before 1970.
std::string purge(Time when, std::uint64_t generation, std::string_view name, std::uint64_t version);
kv::KeyRange purges_until(Time now);
struct PurgeKey {
  Time when;
  std::uint64_t generation = 0;
  std::string name;
  std::uint64_t version = 0;
};
std::optional<PurgeKey> purge_key(std::string_view key);

inline std::string extent(std::uint64_t content, std::uint64_t start, std::uint64_t number) {
  return kv::key('X', content, start, number);
}
inline kv::KeyRange extents(std::uint64_t content) { return kv::under(kv::key('X', content)); }
/// The extents that begin at `start` or before; the last of them holds that place, if any does.
inline kv::KeyRange extents_up_to(std::uint64_t content, std::uint64_t start) {
  return {kv::key('X', content), kv::key('X', content, start + 1)};
}
inline kv::KeyRange extents_from(std::uint64_t content, std::uint64_t start) {
  return {kv::key('X', content, start), kv::prefix_end(kv::key('X', content))};
}
/// Returns the place where the extent begins.
std::uint64_t extent_start(std::string_view key);

inline std::string payload(std::uint64_t id) { return kv::key('P', id); }
inline std::string pending(std::uint64_t payload) { return kv::key('Q', payload); }
inline std::string late_file(std::uint64_t payload) { return kv::key(kLateFile, payload); }
inline std::string references(std::uint64_t id) { return kv::key('R', id); }
inline std::string dead(std::uint64_t id) { return kv::key(kDead, id); }
/// All keys of a kind, or those with one number, for kinds whose keys begin with a number.
inline kv::KeyRange all(char kind) { return kv::under(kv::key(kind)); }
inline kv::KeyRange all(char kind, std::uint64_t number) { return kv::under(kv::key(kind, number)); }
/// Returns the number after the kind; 0 if there is none.
inline std::uint64_t number(std::string_view key) { return kv::number_in(key); }

}  // namespace tidemark::blob_store::blob_keys
