// The operations of the blob store. Every change is one transaction that checks its conditions, writes metadata and
// moves payloads between pending, live and dead (storage/blob_keys.h). The content is durable before that. Thread safe;
// reads run on the caller's thread. Errors have the protocol's codes; a failed operation changes nothing.
//
// A blob is on the shard that its name gives, with all that belongs to it; containers are on the first shard, and what
// the others know of them is in storage/container_rows.h.
#pragma once
#include <deque>
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
#include "blob_store/storage/container_rows.h"
#include "blob_store/storage/page_edit.h"
#include "blob_store/storage/payload.h"
#include "common/base/random.h"
#include "common/kv/account_properties.h"
#include "common/kv/operation_ledgers.h"
#include "common/kv/shards.h"

namespace tidemark::blob_store {

/// The first item of a page. What is kept of a blob is before the blob itself.
struct ListPlace {
  std::string name;           // empty: the first of all
  std::optional<Stamp> kept;  // it is this one of what is kept
};
struct ListRequest {
  std::string prefix, delimiter;
  ListPlace from;
  std::size_t limit = 5000;
  bool with_snapshots = false, with_deleted = false, with_uncommitted = false;
  bool with_system = false;  // of containers: those that are hidden
};
template <class Item>
struct ListPage {
  std::vector<Item> items;
  ListPlace next;  // `from` of the next page; without a name after the last
};
struct NamedContainer {
  std::string name;
  Container container;
};
struct ListedBlob {
  std::string name;
  bool folded = false;  // it is a common prefix: the rest says nothing
  Blob blob = {};
  std::optional<Stamp> snapshot = {};
  std::optional<Time> deleted = {};
  std::uint32_t retained_days = 0;  // of what was deleted
  bool uncommitted = false;         // there are only staged blocks
};

struct OpenedBlob {
  Blob blob;
  ReadableContent content;
  [[nodiscard]] ContentReader read(std::uint64_t offset, std::uint64_t length) const {
    return {content, offset, length};
  }
};
struct TagFind {
  TagSearch search;
  std::string container;  // empty: in all of them, or in the one that the search names
  ListPlace from;         // `next` of the page before: "container/blob"
  std::size_t limit = 5000;
};
struct FoundBlob {
  std::string container, name;
  Tags tags;  // those that the search names
};
struct BlockLists {
  std::optional<Blob> blob;  // absent if there are only staged blocks
  std::vector<Extent> committed;
  StagedBlocks staged;
};

struct LeaseOutcome {
  LeaseAnswer lease;
  Stamp version;  // of the blob or container
};
struct SnapshotOutcome {
  Stamp snapshot;
  Stamp version;  // of the blob
};
/// What becomes of the destination of a copy; what is absent is as the source has it.
struct CopyRequest {
  BlobRef source;
  std::string source_url;
  Conditions source_conditions;
  ContentHeaders headers;
  bool own_headers = false;  // those that are not given are not the source's, either
  std::optional<Metadata> metadata;
  std::optional<Tags> tags;  // absent: none
  bool copy_tags = false;
  std::string tier;
  bool rehydrates = false;           // the source may be archived, which the copy is not
  bool needs_endless_lease = false;  // of the destination, if it is leased
  std::optional<bool> sealed;
  /// Put Blob From URL: a block blob that does not tell that it is a copy.
  bool as_new_block_blob = false;
};
/// Of the destination, if the source has these.
ContentHeaders headers_of_copy(const CopyRequest& request, const ContentHeaders& source);
struct CopyOutcome {
  Stamp version;
  std::string id;   // of the copy
  std::string md5;  // of the content, if it is known
};
/// What a deletion does with the snapshots of a blob; kNone refuses if there are any.
enum class DeleteSnapshots { kNone, kInclude, kOnly };
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

/// What a write of pages asks of the sequence number as it is.
struct SequenceConditions {
  std::optional<std::uint64_t> at_most = {}, below = {}, equal = {};
};
enum class SequenceAction { kMax, kUpdate, kIncrement };
struct SequenceChange {
  SequenceAction action = SequenceAction::kIncrement;
  std::uint64_t number = 0;  // not of kIncrement
};
/// What is absent stays as it is.
struct PageProperties {
  std::optional<ContentHeaders> headers = {};
  std::optional<std::uint64_t> size = {};
  std::optional<SequenceChange> sequence = {};
};
struct PageRangesRequest {
  std::optional<ByteRange> range = {};  // it may go beyond the end
  std::optional<Stamp> previous = {};   // what changed since this snapshot
  std::uint64_t from = 0;               // where the page begins
  std::size_t limit = 10'000;
};
struct PageRanges {
  Blob blob;
  std::vector<ChangedRange> ranges;
  std::optional<std::uint64_t> next;  // `from` of the next page
};

class BlobService : public kv::OperationLedgers, public kv::AccountProperties {
 public:
  /// `random`: for ids that clients see. `files` outlives the service and its readers. Staged blocks expire by the ages
  /// of the shards.
  BlobService(kv::Shards shards, Clock& clock, Random& random, const PayloadFiles& files, Executor background);
  /// Of one shard, with the same clock for all.
  BlobService(kv::Engine& engine, Clock& clock, Random& random, const PayloadFiles& files, Executor background)
      : BlobService(kv::Shards{.all = {{engine, clock}}}, clock, random, files, std::move(background)) {}
  /// Call it before anything is written: cleans up after an earlier process.
  void start();
  /// Instead, if processes share the shards: this one has none yet. `payload_folder`: the id of the folder of files.
  void start_sharing(std::string payload_folder);
  /// From any thread: the shard is this process's from now on; it is not any more.
  void gained(std::size_t shard);
  void lost(std::size_t shard);
  /// The shard that has the blob.
  [[nodiscard]] std::size_t shard_of(const BlobRef& ref) const { return of(ref).number; }

  Task<Result<Stamp>> create_container(ContainerRef ref, Metadata metadata, std::string public_access);
  Task<Result<void>> delete_container(ContainerRef ref, Conditions conditions);
  /// Checks the lease id, if there is one.
  Result<Container> get_container(const ContainerRef& ref, const Conditions& conditions = {}) const;
  Task<Result<Stamp>> set_container_metadata(ContainerRef ref, Metadata metadata, Conditions conditions);
  Task<Result<Stamp>> set_container_access(ContainerRef ref, std::string public_access, StoredPolicies policies,
                                           Conditions conditions);
  Result<ListPage<NamedContainer>> list_containers(const std::string& account, const ListRequest& request) const;

  /// Content is streamed into a writer for its blob and then published by one of the next three calls. After any error,
  /// call give_up(), or abandon() with its id if it was to be published.
  [[nodiscard]] PayloadWriter new_payload(const BlobRef& ref);
  /// Its space is free at once, also while the disk has too little for transactions.
  Task<void> give_up(const PayloadWriter& writer);
  void abandon(std::uint64_t payload);
  /// What can be refused before the content travels: the name, the metadata, and that there is no container. `little`:
  /// so little content that whoever publishes it finds out soon enough whether there is one.
  Result<void> check_put(const BlobRef& ref, const Metadata& metadata, bool little) const;
  Task<Result<Stamp>> put_blob(BlobRef ref, NewContent content, WrittenPayload payload, Conditions conditions);
  Task<Result<void>> put_block(BlobRef ref, std::string block_id, WrittenPayload payload, Conditions conditions = {});
  Task<Result<Stamp>> put_block_list(BlobRef ref, std::vector<BlockChoice> choices, NewContent content,
                                     Conditions conditions);

  /// Empty, in place of the append blob that is there.
  Task<Result<Stamp>> create_append_blob(BlobRef ref, NewContent content, Conditions conditions);
  /// Errors: kInvalidBlobType, kBlobIsSealed, kAppendPositionConditionNotMet, kMaxBlobSizeConditionNotMet,
  /// kBlockCountExceedsLimit.
  Task<Result<AppendOutcome>> append_block(BlobRef ref, WrittenPayload payload, AppendConditions wanted,
                                           Conditions conditions);
  /// Nothing is appended any more.
  Task<Result<Stamp>> seal_blob(BlobRef ref, AppendConditions wanted, Conditions conditions);

  /// All of it is zeros. The type and the version are given by the store.
  Task<Result<Stamp>> create_page_blob(BlobRef ref, NewContent content, std::uint64_t size,
                                       std::uint64_t sequence_number, Conditions conditions);
  /// The payload has the size of the range. Errors of this and the next: kInvalidBlobType, kInvalidPageRange,
  /// kSequenceNumberConditionNotMet. They answer with the blob as it is then.
  Task<Result<Blob>> put_pages(BlobRef ref, ByteRange range, WrittenPayload payload, SequenceConditions wanted,
                               Conditions conditions);
  /// More than a transaction can clear is cleared in several, from the front to the end.
  Task<Result<Blob>> clear_pages(BlobRef ref, ByteRange range, SequenceConditions wanted, Conditions conditions);
  Task<Result<Blob>> set_page_properties(BlobRef ref, PageProperties properties, Conditions conditions);
  /// Errors: kInvalidBlobType, kInvalidRange, kPreviousSnapshotNotFound.
  Result<PageRanges> get_page_ranges(const BlobRef& ref, const PageRangesRequest& request,
                                     const Conditions& conditions) const;

  Result<BlockLists> get_block_lists(const BlobRef& ref, const Conditions& conditions = {}) const;
  /// The properties, without reading the extents.
  Result<Blob> get_blob(const BlobRef& ref, const Conditions& conditions) const;
  /// `archived`: whether what is archived may be read.
  Result<OpenedBlob> open_blob(const BlobRef& ref, const Conditions& conditions, bool archived = false) const;
  /// This and the next answer with the blob as it is then.
  Task<Result<Blob>> set_headers(BlobRef ref, ContentHeaders headers, Conditions conditions);
  Task<Result<Blob>> set_metadata(BlobRef ref, Metadata metadata, Conditions conditions);
  /// Of a snapshot, if the reference names one; of staged blocks, if there is nothing else. True if it is gone for
  /// good, false if undelete brings it back. Errors: kSnapshotsPresent.
  Task<Result<bool>> delete_blob(BlobRef ref, DeleteSnapshots snapshots, Conditions conditions);
  Task<Result<void>> undelete_blob(BlobRef ref);
  /// Takes the blob's metadata without `metadata`.
  Task<Result<SnapshotOutcome>> snapshot_blob(BlobRef ref, std::optional<Metadata> metadata, Conditions conditions);
  /// Shares the content of the source, or copies it if that is on another shard, and ends when it is there. Errors:
  /// kSourceConditionNotMet, kBlobArchived, kInvalidBlobType.
  Task<Result<CopyOutcome>> copy_blob(CopyRequest request, BlobRef ref, Conditions conditions);
  Task<Result<LeaseOutcome>> lease_blob(BlobRef ref, LeaseRequest request, Conditions conditions);
  Task<Result<LeaseOutcome>> lease_container(ContainerRef ref, LeaseRequest request, Conditions conditions);
  /// Neither these nor the tier change the version.
  Task<Result<void>> set_tags(BlobRef ref, Tags tags, Conditions conditions);
  /// Of a snapshot, if the reference names one. True if it was archived and now is not. kInvalidBlobType.
  Task<Result<bool>> set_tier(BlobRef ref, std::string tier, Conditions conditions);
  /// In the order of containers, then of blobs. Work is bounded: a page may be short, even empty, before the last.
  Result<ListPage<FoundBlob>> find_by_tags(const std::string& account, const TagFind& find) const;
  /// Likewise a page of these.
  Result<ListPage<ListedBlob>> list_blobs(const ContainerRef& ref, ListRequest request) const;

  /// For workers: each call is one transaction with its fence. If a payload was not used, it is abandoned.
  Task<Result<WriteOutcome>> put_if_newer(BlobRef ref, NewContent content, WrittenPayload payload, FencedWrite write);
  Task<Result<void>> stage_block(BlobRef ref, std::string block_id, WrittenPayload payload, Fence fence);
  /// Publishes these staged blocks as the blob, in this order. kInvalidBlockList if one is not there any more.
  Task<Result<WriteOutcome>> publish_if_newer(BlobRef ref, std::vector<std::string> block_ids, NewContent content,
                                              FencedWrite write);
  /// Erases a blob that anybody wrote, if it still has this version; kConflict if it is leased or has snapshots.
  Task<Result<WriteOutcome>> discard_blob(BlobRef ref, Stamp version, Fence fence);
  /// Erases a copy of `source_version` or of an older one.
  Task<Result<WriteOutcome>> erase_unless_newer(BlobRef ref, FencedWrite write);

  [[nodiscard]] std::string new_guid() { return random_.guid(); }
  [[nodiscard]] Collector& collector(std::size_t shard = 0) { return shards_[shard].collector; }
  /// Payload files may be removed again.
  void collect_all();
  /// Begins no work in the background any more.
  void begin_shutdown();

 private:
  struct Shard {
    Shard(std::size_t number_, const kv::Shard& stored, Clock& clock, const PayloadFiles& files, Executor background)
        : number(number_),
          engine(stored.engine),
          readers(clock),
          collector(engine, files, readers, clock, stored.ages, std::move(background)) {}
    const std::size_t number;
    kv::Engine& engine;
    Readers readers;
    Collector collector;
  };
  [[nodiscard]] Shard& of(const BlobRef& ref) const {
    return shards_[stored_.placement.of({ref.account, ref.container, ref.name})];
  }
  [[nodiscard]] kv::Engine& catalogue() const { return stored_.catalogue().engine; }
  [[nodiscard]] bool divided() const { return shards_.size() > 1; }

  /// Runs a transaction of the shard that has the blob, which is told of the container if it does not know it yet, and
  /// of another one whose blobs the transaction looks at.
  using BlobBody = std::function<Result<void>(kv::Transaction&, const Place&)>;
  Task<Result<void>> transact(const BlobRef& ref, BlobBody body, const FailStep* step = nullptr,
                              std::optional<ContainerRef> other = {});
  Task<Result<void>> transact_elsewhere(const Shard& shard, BlobRef ref, BlobBody body, const FailStep* step,
                                        std::optional<ContainerRef> other);
  /// Tells the shard of the container, if it does not know it. kContainerNotFound: there is none.
  Task<Result<void>> know_container(const Shard& shard, ContainerRef ref) const;
  [[nodiscard]] Place place_on(const Shard& shard) const { return {shard.number, &containers_}; }
  /// Of the container, for these rows of a shard: they need not know it.
  [[nodiscard]] Result<std::uint64_t> generation_in(const kv::Reader& rows, const Shard& shard,
                                                    const ContainerRef& ref) const;
  /// What is under the name now, if anything. kContainerNotFound.
  [[nodiscard]] Result<std::optional<Blob>> current_blob(const BlobRef& ref) const;
  [[nodiscard]] Result<Blob> existing_blob(const kv::Reader& rows, const Shard& shard, const BlobRef& ref,
                                           const Conditions& conditions) const;
  Result<Stamp> next_version(kv::Transaction& txn) const;
  Task<Result<Stamp>> change_container(ContainerRef ref, Conditions conditions, std::function<void(Container&)> change);
  Task<Result<Blob>> change_blob(BlobRef ref, Conditions conditions, std::function<void(Blob&)> change);
  /// Stores a blob of the type that it has, without content.
  Task<Result<Stamp>> create_empty(BlobRef ref, Blob blob, Conditions conditions);
  using TypedChange = std::function<Result<void>(kv::Transaction&, Ids, Blob&)>;
  enum class Versioned : bool { kAsBefore, kNew };
  /// Changes a blob of this type, content and all. Errors: kInvalidBlobType.
  Task<Result<Blob>> change_typed(BlobRef ref, BlobType type, Conditions conditions, TypedChange change,
                                  const FailStep& step, Versioned versioned = Versioned::kNew);
  /// Of the cells where the range begins and ends, the bytes that are in files, if the cells may have to be rewritten.
  std::vector<FileBytes> read_cells(const BlobRef& ref, const ByteRange& range) const;
  /// Makes a hole of the range and calls `last` with what is then the blob; all of it in one transaction if it can be.
  Task<Result<Blob>> clear_range(BlobRef ref, std::function<Result<ByteRange>(const Blob&)> range,
                                 std::function<Result<void>(Blob&)> last, Conditions conditions);
  /// Stores what replaces the current blob, if there is one, with a new version.
  Result<void> replace(kv::Transaction& txn, const CurrentBlob& current, const std::string& name, Blob& blob) const;
  /// True if that leaves work for the collector.
  Result<bool> write_whole(kv::Transaction& txn, const CurrentBlob& current, const std::string& name,
                           const WrittenPayload& payload, Blob& blob) const;
  Result<void> write_blocks(kv::Transaction& txn, const CurrentBlob& current, const std::string& name,
                            const std::vector<BlockChoice>& choices, Blob& blob) const;
  /// What was the content of `current` goes, or is kept as long as the account retains it.
  Result<void> discard(kv::Transaction& txn, const CurrentBlob& current, const std::string& name,
                       bool as_snapshot) const;
  /// Changes what is kept of a blob, when nothing else happens to that any more: storage/kept_blobs.h. `kept`: of this
  /// one instead, which is on the shard of the blob.
  Task<Result<void>> change_settled(BlobRef ref, BlobBody change, const FailStep& step,
                                    std::optional<BlobRef> kept = {});
  /// Deleted snapshots are retained for so many days.
  Result<void> drop_snapshot(kv::Transaction& txn, const CurrentBlob& current, const BlobRef& ref,
                             const Conditions& conditions, std::uint32_t days) const;
  Result<void> drop_snapshots(kv::Transaction& txn, const CurrentBlob& current, const std::string& name,
                              DeleteSnapshots wanted, std::uint32_t days) const;
  Result<void> erase_blob(kv::Transaction& txn, const CurrentBlob& current, const std::string& name) const;
  /// True if it replaced a block with this id.
  Result<bool> write_staged(kv::Transaction& txn, Ids ids, std::uint64_t generation, const std::string& name,
                            const std::string& block_id, const WrittenPayload& payload) const;
  using FencedEffect = std::function<Result<WriteOutcome>(kv::Transaction&, const Place&)>;
  Task<Result<WriteOutcome>> write_fenced(BlobRef ref, Fence fence, FencedEffect effect);
  Task<Result<void>> note_payload_folder();
  Task<Result<void>> finish_deletions();
  Task<Result<CopyOutcome>> copy_shared(CopyRequest request, BlobRef ref, Conditions conditions);
  Task<Result<CopyOutcome>> copy_bytes(CopyRequest request, BlobRef ref, Conditions conditions);

  const kv::Shards stored_;
  Clock& clock_;
  Random& random_;
  const PayloadFiles& files_;
  const Executor background_;
  mutable std::deque<Shard> shards_;
  std::string payload_folder_;  // its id, if processes share the shards
  const ContainerRows rows_{[this](std::size_t shard) { shards_[shard].collector.kick(); }};
  kv::CatalogueCopies containers_{stored_, clock_, blob_keys::kContainerCopy, rows_};
};

}  // namespace tidemark::blob_store
