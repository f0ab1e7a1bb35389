// What a container and a block blob are. Plain values: no I/O, no errors, safe to copy between threads.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/stored_policy.h"
#include "common/base/time.h"

namespace tidemark::blob_store {

/// Names keep their case and order.
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// The number of a change, from which ETag and Last-Modified are derived: 100 ns ticks since the year 1, rising
/// strictly across the whole store.
struct Stamp {
  std::uint64_t ticks = 0;
  [[nodiscard]] Time time() const;
  [[nodiscard]] std::string etag() const;  // 0x8D6D4195BBBCCE8, without quotes
  static Stamp at(Time time);
};

/// Headers that belong to the content; empty if not set.
struct ContentHeaders {
  std::string type, encoding, language, disposition, cache_control;
  std::string md5;  // base64, as in the header
};

/// A part of a blob's content: one stored payload, from its beginning.
struct Extent {
  std::uint64_t payload = 0;  // 0 if empty
  std::uint64_t size = 0;
  std::string block_id;  // as the client wrote it, base64; empty for the content of a Put Blob
};

struct Blob {
  ContentHeaders headers;
  Metadata metadata;
  Stamp version;
  Stamp created;
  std::uint64_t size = 0;
  /// For copies made by workers: the version of the original, which decides which of two copies is newer.
  std::optional<std::int64_t> source_version;
  [[nodiscard]] std::int64_t effective_version() const {
    return source_version.value_or(static_cast<std::int64_t>(version.ticks));
  }
};

/// What a new blob has besides its bytes.
struct NewContent {
  ContentHeaders headers;
  Metadata metadata;
};

struct Container {
  std::uint64_t generation = 0;  // the keys of its blobs have this number instead of the name
  Stamp version;
  Metadata metadata;
  std::string public_access;  // "", "blob" or "container"
  StoredPolicies policies;
};

struct ContainerRef {
  std::string account, name;
};
struct BlobRef {
  std::string account, container, name;
  [[nodiscard]] ContainerRef parent() const { return {account, container}; }
};

}  // namespace tidemark::blob_store
