// The calls of requests over HTTP, and those between the processes that share the shards of the blobs (docs/scale.md,
// Owners). client/blob_calls.h has the calls of workers and the api. Requests that read need no call: any process reads
// the database, and asks the owner of a shard only to keep the files that it reads.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blob_store/client/blob_calls.h"
#include "blob_store/model/blob_requests.h"
#include "blob_store/storage/payload.h"

namespace tidemark::blob_store::calls {

// Containers and accounts.

struct CreateContainer {
  static constexpr std::string_view kMethod = "blob.create_container";
  using Reply = Stamp;
  ContainerRef ref;
  Metadata metadata;
  std::string public_access;
  [[nodiscard]] rpc::ShardNumber place() const { return rpc::kCatalogue; }
};

struct DeleteContainer {
  static constexpr std::string_view kMethod = "blob.delete_container";
  using Reply = void;
  ContainerRef ref;
  Conditions conditions;
  [[nodiscard]] rpc::ShardNumber place() const { return rpc::kCatalogue; }
};

struct SetContainerMetadata {
  static constexpr std::string_view kMethod = "blob.set_container_metadata";
  using Reply = Stamp;
  ContainerRef ref;
  Metadata metadata;
  Conditions conditions;
  [[nodiscard]] rpc::ShardNumber place() const { return rpc::kCatalogue; }
};

struct SetContainerAccess {
  static constexpr std::string_view kMethod = "blob.set_container_access";
  using Reply = Stamp;
  ContainerRef ref;
  std::string public_access;
  StoredPolicies policies;
  Conditions conditions;
  [[nodiscard]] rpc::ShardNumber place() const { return rpc::kCatalogue; }
};

struct LeaseContainer {
  static constexpr std::string_view kMethod = "blob.lease_container";
  using Reply = LeaseOutcome;
  ContainerRef ref;
  LeaseRequest request;
  Conditions conditions;
  [[nodiscard]] rpc::ShardNumber place() const { return rpc::kCatalogue; }
};

/// Merges the document of a client into the service properties of the account.
struct SetServiceProperties {
  static constexpr std::string_view kMethod = "blob.set_service_properties";
  using Reply = void;
  std::string account, document;
  [[nodiscard]] rpc::ShardNumber place() const { return rpc::kCatalogue; }
};

// Blobs.

struct PutBlob {
  static constexpr std::string_view kMethod = "blob.put_blob";
  using Reply = Stamp;
  BlobRef ref;
  NewContent content;
  WrittenPayload payload;
  Conditions conditions;
  [[nodiscard]] const BlobRef& place() const { return ref; }
};

struct PutBlock {
  static constexpr std::string_view kMethod = "blob.put_block";
  using Reply = void;
  BlobRef ref;
  std::string block_id;
  WrittenPayload payload;
  Conditions conditions;
  [[nodiscard]] const BlobRef& place() const { return ref; }
};

struct PutBlockList {
  static constexpr std::string_view kMethod = "blob.put_block_list";
  using Reply = Stamp;
  BlobRef ref;
  std::vector<BlockChoice> choices;
  NewContent content;
  Conditions conditions;
  [[nodiscard]] const BlobRef& place() const { return ref; }
};

struct CreateAppendBlob {
  static constexpr std::string_view kMethod = "blob.create_append_blob";
  using Reply = Stamp;
  BlobRef ref;
  NewContent content;
  Conditions conditions;
  [[nodiscard]] const BlobRef& place() const { return ref; }
};

struct AppendBlock {
  static constexpr std::string_view kMethod = "blob.append_block";
  using Reply = AppendOutcome;
  BlobRef ref;
  WrittenPayload payload;
  AppendConditions wanted;
  Conditions conditions;
  [[nodiscard]] const BlobRef& place() const { return ref; }
};

struct SealBlob {
  static constexpr std::string_view kMethod = "blob.seal";
  using Reply = Stamp;
  BlobRef ref;
  AppendConditions wanted;
  Conditions conditions;
  [[nodiscard]] const BlobRef& place() const { return ref; }
};

struct CreatePageBlob {
  static constexpr std::string_view kMethod = "blob.create_page_blob";
  using Reply = Stamp;
  BlobRef ref;
  NewContent content;
  std::uint64_t size = 0, sequence_number = 0;
  Conditions conditions;
  [[nodiscard]] const BlobRef& place() const { return ref; }
};

struct PutPages {
  static constexpr std::string_view kMethod = "blob.put_pages";
  using Reply = ChangedBlob;
  BlobRef ref;
  ByteRange range;
  WrittenPayload payload;
  SequenceConditions wanted;
  Conditions conditions;
  [[nodiscard]] const BlobRef& place() const { return ref; }
};

struct ClearPages {
  static constexpr std::string_view kMethod = "blob.clear_pages";
  using Reply = ChangedBlob;
  BlobRef ref;
  ByteRange range;
  SequenceConditions wanted;
  Conditions conditions;
  [[nodiscard]] const BlobRef& place() const { return ref; }
};

struct SetPageProperties {
  static constexpr std::string_view kMethod = "blob.set_page_properties";
  using Reply = ChangedBlob;
  BlobRef ref;
  PageProperties properties;
  Conditions conditions;
  [[nodiscard]] const BlobRef& place() const { return ref; }
};

struct SetHeaders {
  static constexpr std::string_view kMethod = "blob.set_headers";
  using Reply = ChangedBlob;
  BlobRef ref;
  ContentHeaders headers;
  Conditions conditions;
  [[nodiscard]] const BlobRef& place() const { return ref; }
};

struct SetMetadata {
  static constexpr std::string_view kMethod = "blob.set_metadata";
  using Reply = ChangedBlob;
  BlobRef ref;
  Metadata metadata;
  Conditions conditions;
  [[nodiscard]] const BlobRef& place() const { return ref; }
};

struct DeleteBlob {
  static constexpr std::string_view kMethod = "blob.delete";
  using Reply = bool;  // false: undelete brings it back
  BlobRef ref;
  DeleteSnapshots snapshots = DeleteSnapshots::kNone;
  Conditions conditions;
  [[nodiscard]] const BlobRef& place() const { return ref; }
};

struct UndeleteBlob {
  static constexpr std::string_view kMethod = "blob.undelete";
  using Reply = void;
  BlobRef ref;
  [[nodiscard]] const BlobRef& place() const { return ref; }
};

struct SnapshotBlob {
  static constexpr std::string_view kMethod = "blob.snapshot";
  using Reply = SnapshotOutcome;
  BlobRef ref;
  std::optional<Metadata> metadata;
  Conditions conditions;
  [[nodiscard]] const BlobRef& place() const { return ref; }
};

/// Goes to the shard of the destination.
struct CopyBlob {
  static constexpr std::string_view kMethod = "blob.copy";
  /// A copy between shards takes as long as its bytes.
  static constexpr Duration kDeadline = std::chrono::minutes(10);
  using Reply = CopyOutcome;
  CopyRequest request;
  BlobRef ref;
  Conditions conditions;
  [[nodiscard]] const BlobRef& place() const { return ref; }
};

struct LeaseBlob {
  static constexpr std::string_view kMethod = "blob.lease";
  using Reply = LeaseOutcome;
  BlobRef ref;
  LeaseRequest request;
  Conditions conditions;
  [[nodiscard]] const BlobRef& place() const { return ref; }
};

struct SetTags {
  static constexpr std::string_view kMethod = "blob.set_tags";
  using Reply = void;
  BlobRef ref;
  Tags tags;
  Conditions conditions;
  [[nodiscard]] const BlobRef& place() const { return ref; }
};

struct SetTier {
  static constexpr std::string_view kMethod = "blob.set_tier";
  using Reply = bool;  // true: the blob was archived and no longer is
  BlobRef ref;
  std::string tier;
  Conditions conditions;
  [[nodiscard]] const BlobRef& place() const { return ref; }
};

// Payloads, between processes. `process` is the name of the process that calls.

/// Registers a payload as pending; the caller then makes its file. Returns the id of the payload.
struct RegisterPayload {
  static constexpr std::string_view kMethod = "blob.register_payload";
  using Reply = std::uint64_t;
  std::size_t shard = 0;
  std::string process;
  [[nodiscard]] rpc::ShardNumber place() const { return {shard}; }
};

/// Gives up payloads that were registered and are not published.
struct AbandonPayloads {
  static constexpr std::string_view kMethod = "blob.abandon_payloads";
  using Reply = void;
  std::size_t shard = 0;
  std::vector<std::uint64_t> payloads;
  [[nodiscard]] rpc::ShardNumber place() const { return {shard}; }
};

/// Keeps a content as it is while the caller reads it. `reader`: a number that the process gives no other reader.
struct KeepContent {
  static constexpr std::string_view kMethod = "blob.keep_content";
  using Reply = void;
  std::size_t shard = 0;
  std::uint64_t content = 0;
  std::string process;
  std::uint64_t reader = 0;
  [[nodiscard]] rpc::ShardNumber place() const { return {shard}; }
};

struct LetGo {
  static constexpr std::string_view kMethod = "blob.let_go";
  using Reply = void;
  std::size_t shard = 0;
  std::string process;
  std::uint64_t reader = 0;
  [[nodiscard]] rpc::ShardNumber place() const { return {shard}; }
};

}  // namespace tidemark::blob_store::calls
