// The calls that the blob store answers (common/rpc/call.h). A call with a place() is carried out by the process that
// serves the place; any process carries out the others.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blob_store/model/blob.h"
#include "blob_store/model/fenced_write.h"
#include "common/rpc/places.h"

namespace tidemark::blob_store {

inline constexpr std::size_t kMaxPieceBytes = 4UL << 20;

struct BlobPiece {
  // The blob as it was when this piece was read.
  Stamp version;
  std::uint64_t size = 0;
  std::optional<std::int64_t> source_version;
  std::string bytes;
};

struct BlobNames {
  std::vector<std::string> names;
  std::string next;  // `from` of the next page; empty: this was the last
};

struct OlderBlobs {
  struct Named {
    std::string name;
    Stamp version;
  };
  std::vector<Named> blobs;
  std::string next;  // `from` of the next page; empty: this was the last
};

struct BlobUsage {
  std::string container;  // empty: no container is left
  std::uint64_t blobs = 0, bytes = 0;
  std::string next_container, next;  // `container` and `from` of the next part; no container: this was the last
};

namespace calls {

struct BlobPlace {
  std::string_view account, container, name;
};

struct EnsureContainer {
  static constexpr std::string_view kMethod = "blob.ensure";
  using Reply = void;
  std::string account, container;
  [[nodiscard]] rpc::ShardNumber place() const { return rpc::kCatalogue; }
};

struct Put {
  static constexpr std::string_view kMethod = "blob.put";
  using Reply = WriteOutcome;
  std::string account, container, name;
  NewContent content;
  std::string bytes;
  FencedWrite write;
  [[nodiscard]] BlobPlace place() const { return {account, container, name}; }
};

struct Stage {
  static constexpr std::string_view kMethod = "blob.stage";
  using Reply = void;
  std::string account, container, name;
  std::uint32_t index = 0;
  std::string bytes;
  Fence fence;
  [[nodiscard]] BlobPlace place() const { return {account, container, name}; }
};

struct Publish {
  static constexpr std::string_view kMethod = "blob.publish";
  using Reply = WriteOutcome;
  std::string account, container, name;
  std::uint32_t count = 0;  // the number of pieces
  NewContent content;
  FencedWrite write;
  [[nodiscard]] BlobPlace place() const { return {account, container, name}; }
};

struct Erase {
  static constexpr std::string_view kMethod = "blob.erase";
  using Reply = WriteOutcome;
  std::string account, container, name;
  FencedWrite write;
  [[nodiscard]] BlobPlace place() const { return {account, container, name}; }
};

struct Read {
  static constexpr std::string_view kMethod = "blob.read";
  using Reply = std::optional<BlobPiece>;
  std::string account, container, name;
  std::uint64_t offset = 0;
  std::optional<Stamp> version;
  [[nodiscard]] BlobPlace place() const { return {account, container, name}; }
};

struct List {
  static constexpr std::string_view kMethod = "blob.list";
  using Reply = BlobNames;
  std::string account, container, prefix, from;
};

/// Erases a blob that has exactly this version, even if a client wrote it; kConflict if it is leased or has snapshots.
struct Discard {
  static constexpr std::string_view kMethod = "blob.discard";
  using Reply = WriteOutcome;
  std::string account, container, name;
  Stamp version;
  Fence fence;
  [[nodiscard]] BlobPlace place() const { return {account, container, name}; }
};

/// Lists some of the blobs that have not changed since `before`.
struct ListOlder {
  static constexpr std::string_view kMethod = "blob.list_older";
  using Reply = OlderBlobs;
  std::string account, container, prefix, from;
  Time before;
};

/// Adds up a part of an account's blobs: at most one page of one container.
struct Usage {
  static constexpr std::string_view kMethod = "blob.usage";
  using Reply = BlobUsage;
  std::string account, container, from;  // the first container that is not before this name
};

struct OpenOperation {
  static constexpr std::string_view kMethod = "blob.open";
  using Reply = OperationLedger;
  std::string account, operation_id;
  std::uint64_t epoch = 0, since = 0;
  [[nodiscard]] rpc::OperationPlace place() const { return {account, operation_id}; }
};

struct CloseOperation {
  static constexpr std::string_view kMethod = "blob.close";
  using Reply = OperationLedger;
  std::string account, operation_id;
  std::uint64_t epoch = 0, since = 0;
  [[nodiscard]] rpc::OperationPlace place() const { return {account, operation_id}; }
};

struct ReadOperation {
  static constexpr std::string_view kMethod = "blob.ledger";
  using Reply = OperationLedger;
  std::string account, operation_id;
};

}  // namespace calls
}  // namespace tidemark::blob_store
