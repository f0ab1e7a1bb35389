// Containers and blobs as plain values: no I/O, no errors, safe to copy between threads.
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

/// Names keep their case and their order.
using Metadata = std::vector<std::pair<std::string, std::string>>;
/// Sorted by key.
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

/// Headers that belong to the content; a header that is not set is empty.
struct ContentHeaders {
  std::string type, encoding, language, disposition, cache_control;
  std::string md5;  // base64, as in the header
};

/// A stored run of bytes that never changes. Its lowest bit tells whether it is a file (storage/payload_files.h) or a
/// row. 0: no bytes.
using PayloadId = std::uint64_t;

/// Tells where the bytes of a blob are: in one payload, or in extents with rows of their own (storage/contents.h).
struct Content {
  std::uint64_t id = 0;  // 0: there are no bytes
  bool whole = false;    // the content is one payload, with this id
  bool shared = false;   // others may refer to it as well: storage/contents.h counts them
};

/// A part of a blob's content.
struct Extent {
  std::uint64_t start = 0;  // its position in the blob
  std::uint64_t size = 0;
  PayloadId payload = 0;
  std::uint64_t from = 0;  // its position in the payload
  std::string block_id;    // base64, as the client wrote it; empty if the extent was no block
};

/// The outcome of the copy that made the content.
struct CopyState {
  std::string id;
  std::string source;  // the URL of the source; in blobs of earlier versions it includes the signature
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
  std::string tier;  // as the client set it; empty: Hot, inferred
  Time tier_changed{};
  std::optional<CopyState> copy;
  std::uint64_t appended_blocks = 0;  // append blobs only
  bool sealed = false;                // append blobs only
  std::uint64_t sequence_number = 0;  // page blobs only
  /// For copies made by workers: the version of the original, which decides which of two copies is newer.
  std::optional<std::int64_t> source_version;
  [[nodiscard]] std::int64_t effective_version() const {
    return source_version.value_or(static_cast<std::int64_t>(version.ticks));
  }
};

/// Returns the name of the tier as the service spells it: those of block blobs, such as Cool, and those of page blobs,
/// such as P30. Nothing if there is no such tier.
std::optional<std::string_view> find_tier(std::string_view name);
/// Tells whether a blob of this type may be in this tier. Append blobs have none.
bool may_have_tier(BlobType type, std::string_view tier);

/// Blobs in this tier cannot be read, changed or replaced, only deleted or moved to another tier.
inline constexpr std::string_view kArchive = "Archive";
inline bool is_archived(const Blob& blob) { return blob.tier == kArchive; }

/// A blob that is kept beside the current one: a snapshot, or one that was deleted or replaced while such are retained.
struct KeptBlob {
  Blob blob;
  bool snapshot = true;             // false: it was the blob itself
  std::optional<Time> deleted;      // from this time on, only undelete brings it back
  std::uint32_t retained_days = 0;  // set if it is deleted
};

/// The properties of a new blob besides its bytes.
struct NewContent {
  ContentHeaders headers;
  Metadata metadata;
  Tags tags;
  std::string tier;
};

Blob blob_of(NewContent content, Time now);

struct Container {
  std::uint64_t generation = 0;  // the keys of its blobs contain this number instead of the name
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
  std::optional<Stamp> snapshot = {};  // absent: the blob itself
  [[nodiscard]] ContainerRef parent() const { return {account, container}; }
};

}  // namespace tidemark::blob_store
