// What a container and a blob are. Plain values: no I/O, no errors, safe to copy between threads.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "blob_store/model/lease.h"
#include "common/base/stored_policy.h"
#include "common/base/time.h"

namespace tidemark::blob_store {

/// Names keep their case and order.
using Metadata = std::vector<std::pair<std::string, std::string>>;
/// In the order of their keys.
using Tags = std::vector<std::pair<std::string, std::string>>;

/// The number of a change, from which ETag and Last-Modified are derived: 100 ns ticks since the year 1, rising
/// strictly across a shard of the store. A snapshot is named by the number that its creation took.
struct Stamp {
  std::uint64_t ticks = 0;
  [[nodiscard]] Time time() const;
  [[nodiscard]] std::string etag() const;      // 0x8D6D4195BBBCCE8, without quotes
  [[nodiscard]] std::string snapshot() const;  // 2019-05-09T00:55:57.2668512Z
  static Stamp at(Time time);
  /// Reads the name of a snapshot.
  static std::optional<Stamp> parse_snapshot(std::string_view text);
  bool operator==(const Stamp&) const = default;
};

enum class BlobType : std::uint8_t { kBlock = 0, kAppend = 1, kPage = 2 };
std::string_view name_of(BlobType type);  // as in x-ms-blob-type

/// Headers that belong to the content; empty if not set.
struct ContentHeaders {
  std::string type, encoding, language, disposition, cache_control;
  std::string md5;  // base64, as in the header
};

/// A stored run of bytes that never changes. Its lowest bit tells whether it is a file (storage/payload_files.h) or a
/// row. 0: no bytes.
using PayloadId = std::uint64_t;

/// Where the bytes of a blob are: one payload, or extents in rows of their own (storage/contents.h).
struct Content {
  std::uint64_t id = 0;  // 0: there are no bytes
  bool whole = false;    // it is one payload, with this id
  bool shared = false;   // others may refer to it as well: storage/contents.h counts them
};

/// A part of a blob's content.
struct Extent {
  std::uint64_t start = 0;  // where it is in the blob
  std::uint64_t size = 0;
  PayloadId payload = 0;
  std::uint64_t from = 0;  // where it begins in the payload
  std::string block_id;    // as the client wrote it, base64; empty for what was no block
};

/// How a copy went that made the content.
struct CopyState {
  std::string id;
  std::string source;  // its URL, in blobs of earlier versions with the signature
  Time completed{};
};

struct Blob {
  BlobType type = BlobType::kBlock;
  ContentHeaders headers;
  Metadata metadata;
  Tags tags;
  Stamp version;
  Stamp created;
  std::uint64_t size = 0;
  Content content;
  Lease lease;
  std::string tier;  // as it was set; empty: Hot, inferred
  Time tier_changed{};
  std::optional<CopyState> copy;
  std::uint64_t appended_blocks = 0;  // of an append blob
  bool sealed = false;                // likewise
  std::uint64_t sequence_number = 0;  // of a page blob
  /// For copies made by workers: the version of the original, which decides which of two copies is newer.
  std::optional<std::int64_t> source_version;
  [[nodiscard]] std::int64_t effective_version() const {
    return source_version.value_or(static_cast<std::int64_t>(version.ticks));
  }
};

/// The tier whose blobs are neither read, changed nor replaced, only deleted or brought back by another tier.
inline constexpr std::string_view kArchive = "Archive";
inline bool is_archived(const Blob& blob) { return blob.tier == kArchive; }

/// What is kept of a blob beside it: a snapshot, or what was deleted or replaced while deleted blobs are retained.
struct KeptBlob {
  Blob blob;
  bool snapshot = true;             // false: it was the blob itself
  std::optional<Time> deleted;      // since when only undelete brings it back
  std::uint32_t retained_days = 0;  // then
};

/// What a new blob has besides its bytes.
struct NewContent {
  ContentHeaders headers;
  Metadata metadata;
  Tags tags;
  std::string tier;
};

Blob blob_of(NewContent content, Time now);

struct Container {
  std::uint64_t generation = 0;  // the keys of its blobs have this number instead of the name
  Stamp version;
  Metadata metadata;
  std::string public_access;  // "", "blob" or "container"
  StoredPolicies policies;
  Lease lease;
};

struct ContainerRef {
  std::string account, name;
};
struct BlobRef {
  std::string account, container, name;
  std::optional<Stamp> snapshot = {};  // the blob itself without it
  [[nodiscard]] ContainerRef parent() const { return {account, container}; }
};

}  // namespace tidemark::blob_store
