// The operations of the blob store. Every change is one transaction that checks its conditions, writes metadata and
// moves payloads between pending, live and dead (storage/blob_keys.h). The content is durable before that. Thread safe;
// reads run on the caller's thread. Errors have the protocol's codes; a failed operation changes nothing.
#pragma once
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "blob_store/model/blob.h"
#include "blob_store/model/block_list.h"
#include "blob_store/model/conditions.h"
#include "blob_store/model/fenced_write.h"
#include "blob_store/storage/blob_lookup.h"
#include "blob_store/storage/collector.h"
#include "blob_store/storage/payload.h"
#include "common/base/random.h"
#include "common/kv/account_properties.h"
#include "common/kv/operation_ledgers.h"

namespace tidemark::blob_store {

struct ListRequest {
  std::string prefix, delimiter;
  std::string from;  // name of the first item
  std::size_t limit = 5000;
};
template <class Item>
struct ListPage {
  std::vector<Item> items;
  std::string next;  // `from` of the next page; empty after the last
};
struct NamedContainer {
  std::string name;
  Container container;
};
struct ListedBlob {
  std::string name;
  std::optional<Blob> blob;  // absent for a common prefix
};

struct OpenedBlob {
  Blob blob;
  ReadableContent content;
  [[nodiscard]] ContentReader read(std::uint64_t offset, std::uint64_t length) const {
    return {content, offset, length};
  }
};
struct BlockLists {
  std::optional<Blob> blob;  // absent if there are only staged blocks
  std::vector<Extent> committed;
  StagedBlocks staged;
};

/// What an append asks of the blob as it is.
struct AppendConditions {
  std::optional<std::uint64_t> position = {};  // its size
  std::optional<std::uint64_t> max_size = {};  // its size with the new block, at most
};
struct AppendOutcome {
  Stamp version;
  std::uint64_t offset = 0;  // where the block is
  std::uint64_t blocks = 0;
};

class BlobService : public kv::OperationLedgers, public kv::AccountProperties {
 public:
  /// `random`: for ids that clients see. `files` outlives the service and its readers.
  /// `ages`: by which staged blocks expire (common/kv/age_clock.h); by default the same clock.
  BlobService(kv::Engine& engine, Clock& clock, Random& random, const PayloadFiles& files, Executor background,
              const Clock* ages = nullptr);

  Task<Result<Stamp>> create_container(ContainerRef ref, Metadata metadata, std::string public_access);
  Task<Result<void>> delete_container(ContainerRef ref, Conditions conditions);
  Result<Container> get_container(const ContainerRef& ref) const;
  Task<Result<Stamp>> set_container_metadata(ContainerRef ref, Metadata metadata, Conditions conditions);
  Task<Result<Stamp>> set_container_access(ContainerRef ref, std::string public_access, StoredPolicies policies,
                                           Conditions conditions);
  Result<ListPage<NamedContainer>> list_containers(const std::string& account, const ListRequest& request) const;

  /// Content is streamed into a writer and then published by one of the next three calls. After any error, call
  /// abandon() with its id unless that is 0. If the store has too much to do for that, the collector does it.
  [[nodiscard]] PayloadWriter new_payload() { return {engine_, clock_, files_}; }
  Task<void> abandon(std::uint64_t payload);
  /// What can be refused before the content travels: the name, the metadata, the container.
  Result<void> check_put(const BlobRef& ref, const Metadata& metadata) const;
  Task<Result<Stamp>> put_blob(BlobRef ref, NewContent content, WrittenPayload payload, Conditions conditions);
  Task<Result<void>> put_block(BlobRef ref, std::string block_id, WrittenPayload payload, std::string lease_id = {});
  Task<Result<Stamp>> put_block_list(BlobRef ref, std::vector<BlockChoice> choices, NewContent content,
                                     Conditions conditions);

  /// Empty, in place of whatever is there.
  Task<Result<Stamp>> create_append_blob(BlobRef ref, NewContent content, Conditions conditions);
  /// Errors: kInvalidBlobType, kBlobIsSealed, kAppendPositionConditionNotMet, kMaxBlobSizeConditionNotMet,
  /// kBlockCountExceedsLimit.
  Task<Result<AppendOutcome>> append_block(BlobRef ref, WrittenPayload payload, AppendConditions wanted,
                                           Conditions conditions);
  /// Nothing is appended any more.
  Task<Result<Stamp>> seal_blob(BlobRef ref, AppendConditions wanted, Conditions conditions);

  Result<BlockLists> get_block_lists(const BlobRef& ref) const;
  /// The properties, without reading the extents.
  Result<Blob> get_blob(const BlobRef& ref, const Conditions& conditions) const;
  Result<OpenedBlob> open_blob(const BlobRef& ref, const Conditions& conditions) const;
  Task<Result<Stamp>> set_headers(BlobRef ref, ContentHeaders headers, Conditions conditions);
  Task<Result<Stamp>> set_metadata(BlobRef ref, Metadata metadata, Conditions conditions);
  Task<Result<void>> delete_blob(BlobRef ref, Conditions conditions);
  Result<ListPage<ListedBlob>> list_blobs(const ContainerRef& ref, const ListRequest& request) const;

  /// For workers: each call is one transaction with its fence. If a payload was not used, it is abandoned.
  Task<Result<WriteOutcome>> put_if_newer(BlobRef ref, NewContent content, WrittenPayload payload, FencedWrite write);
  Task<Result<void>> stage_block(BlobRef ref, std::string block_id, WrittenPayload payload, Fence fence);
  /// Publishes these staged blocks as the blob, in this order. kInvalidBlockList if one is not there any more.
  Task<Result<WriteOutcome>> publish_if_newer(BlobRef ref, std::vector<std::string> block_ids, NewContent content,
                                              FencedWrite write);
  /// Erases a copy of `source_version` or of an older one.
  Task<Result<WriteOutcome>> erase_unless_newer(BlobRef ref, FencedWrite write);

  [[nodiscard]] Collector& collector() { return collector_; }

 private:
  Result<Stamp> next_version(kv::Transaction& txn) const;
  Task<Result<Stamp>> change_container(ContainerRef ref, Conditions conditions, std::function<void(Container&)> change);
  Task<Result<Stamp>> change_blob(BlobRef ref, Conditions conditions, std::function<void(Blob&)> change);
  /// Stores a blob of the type that it has, without content.
  Task<Result<Stamp>> create_empty(BlobRef ref, Blob blob, Conditions conditions);
  using TypedChange = std::function<Result<void>(kv::Transaction&, Blob&)>;
  /// Changes a blob of this type, content and all, and gives it a new version. Errors: kInvalidBlobType.
  Task<Result<Blob>> change_typed(BlobRef ref, BlobType type, Conditions conditions, TypedChange change,
                                  const FailStep& step);
  /// Stores what replaces the current blob, if there is one, with a new version.
  Result<void> replace(kv::Transaction& txn, const CurrentBlob& current, const std::string& name, Blob& blob) const;
  Result<void> write_whole(kv::Transaction& txn, const CurrentBlob& current, const std::string& name,
                           const WrittenPayload& payload, Blob& blob) const;
  Result<void> write_blocks(kv::Transaction& txn, const CurrentBlob& current, const std::string& name,
                            const std::vector<BlockChoice>& choices, Blob& blob) const;
  Result<void> erase_blob(kv::Transaction& txn, const CurrentBlob& current, const std::string& name) const;
  /// True if it replaced a block with this id.
  Result<bool> write_staged(kv::Transaction& txn, std::uint64_t generation, const std::string& name,
                            const std::string& block_id, const WrittenPayload& payload) const;
  using FencedEffect = std::function<Result<WriteOutcome>(kv::Transaction&)>;
  Task<Result<WriteOutcome>> write_fenced(std::string account, Fence fence, FencedEffect effect);

  kv::Engine& engine_;
  Clock& clock_;
  Random& random_;
  const PayloadFiles& files_;
  mutable Readers readers_;
  Collector collector_;
};

}  // namespace tidemark::blob_store
