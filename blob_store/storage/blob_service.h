// The operations of the blob store. Every change is one transaction that checks its conditions, writes metadata and
// moves payloads between pending, live and dead (storage/blob_keys.h). The content is durable before that. Thread safe;
// reads run on the caller's thread. Errors have the protocol's codes; a failed operation changes nothing.
//
// A blob is on the shard that its name gives, with all that belongs to it. Containers are on the first shard, and the
// others have copies of them (storage/container_rows.h).
#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "blob_store/client/blob_calls.h"
#include "blob_store/model/blob_requests.h"
#include "blob_store/model/fenced_write.h"
#include "blob_store/model/names.h"
#include "blob_store/storage/blob_lookup.h"
#include "blob_store/storage/collector.h"
#include "blob_store/storage/container_rows.h"
#include "blob_store/storage/lent_payloads.h"
#include "blob_store/storage/page_edit.h"
#include "blob_store/storage/payload.h"
#include "common/base/random.h"
#include "common/kv/account_properties.h"
#include "common/shards/operation_ledgers.h"
#include "common/shards/peers.h"
#include "common/shards/shards.h"

namespace tidemark::blob_store {

/// Returns the headers of the destination for a source with these headers.
ContentHeaders headers_of_copy(const CopyRequest& request, const ContentHeaders& source);

struct OpenedBlob {
  Blob blob;
  ReadableContent content;
  [[nodiscard]] ContentReader read(std::uint64_t offset, std::uint64_t length) const {
    return {content, offset, length};
  }
};

class BlobService : public shards::OperationLedgers, public kv::AccountProperties {
 public:
  /// `random`: for ids that clients see. `files` outlives service and readers. Staged blocks expire by the ages of the
  /// shards.
  BlobService(shards::Shards shards, Clock& clock, Random& random, const PayloadFiles& files, Executor background);
  /// Makes a service with one shard, with one clock for everything.
  BlobService(kv::Engine& engine, Clock& clock, Random& random, const PayloadFiles& files, Executor background)
      : BlobService(shards::Shards{.all = {{engine, clock}}}, clock, random, files, std::move(background)) {}
  /// Call it before anything is written: cleans up after an earlier process.
  void start();
  /// Call it instead if processes share the shards: this one serves none yet. `payload_folder`: the id of the folder.
  void start_sharing(std::string payload_folder);
  /// Called from any thread: this process has gained the shard, or lost it.
  void gained(std::size_t shard);
  void lost(std::size_t shard);
  /// Carries out a call of client/*_calls.h or storage/owner_calls.h, in the process that serves its place. Defined in
  /// storage/served_calls.h. kServerBusy: no process serves it now, or it is unknown whether the call was carried out.
  template <class Call>
  Task<Result<typename Call::Reply>> call(Call call);
  /// Returns the shard that has the blob.
  [[nodiscard]] std::size_t shard_of(const BlobRef& ref) const { return of(ref).number; }
  // The functions that read do so in any process. The others change blobs, and are for the process that serves their
  // shard, which call() finds.

  Task<Result<Stamp>> create_container(ContainerRef ref, Metadata metadata, std::string public_access);
  Task<Result<void>> delete_container(ContainerRef ref, Conditions conditions);
  /// Checks the lease id, if there is one.
  Result<Container> get_container(const ContainerRef& ref, const Conditions& conditions = {}) const;
  Task<Result<Stamp>> set_container_metadata(ContainerRef ref, Metadata metadata, Conditions conditions);
  Task<Result<Stamp>> set_container_access(ContainerRef ref, std::string public_access, StoredPolicies policies,
                                           Conditions conditions);
  /// Leaves the public access as it is.
  Task<Result<Stamp>> set_container_policies(ContainerRef ref, StoredPolicies policies);
  Result<ListPage<NamedContainer>> list_containers(const std::string& account, const ListRequest& request) const;

  /// In any process, content is streamed into a writer for its blob, and then published by one of the calls that have a
  /// payload. After any error, call give_up(), or abandon() with the id of a payload that was to be published.
  [[nodiscard]] PayloadWriter new_payload(const BlobRef& ref);
  /// Frees the space at once, even while the disk has too little of it for transactions.
  Task<void> give_up(const PayloadWriter& writer);
  void abandon(std::uint64_t payload);
  /// Makes the checks that are possible before the content is sent: the name, the metadata, and that the container
  /// exists. `little`: so little content that its publication finds out soon enough whether the container exists.
  Result<void> check_put(const BlobRef& ref, const Metadata& metadata, bool little) const;
  Task<Result<Stamp>> put_blob(BlobRef ref, NewContent content, WrittenPayload payload, Conditions conditions);
  Task<Result<void>> put_block(BlobRef ref, std::string block_id, WrittenPayload payload, Conditions conditions = {});
  Task<Result<Stamp>> put_block_list(BlobRef ref, std::vector<BlockChoice> choices, NewContent content,
                                     Conditions conditions);

  /// Creates an empty blob in place of an append blob that exists.
  Task<Result<Stamp>> create_append_blob(BlobRef ref, NewContent content, Conditions conditions);
  /// Errors: kInvalidBlobType, kBlobIsSealed, kAppendPositionConditionNotMet, kMaxBlobSizeConditionNotMet,
  /// kBlockCountExceedsLimit.
  Task<Result<AppendOutcome>> append_block(BlobRef ref, WrittenPayload payload, AppendConditions wanted,
                                           Conditions conditions);
  /// No block can be appended afterwards.
  Task<Result<Stamp>> seal_blob(BlobRef ref, AppendConditions wanted, Conditions conditions);

  /// Creates a blob full of zeros.
  Task<Result<Stamp>> create_page_blob(BlobRef ref, NewContent content, std::uint64_t size,
                                       std::uint64_t sequence_number, Conditions conditions);
  /// The payload has the size of the range. Errors of this and the next: kInvalidBlobType, kInvalidPageRange,
  /// kSequenceNumberConditionNotMet. Both return the blob as it is afterwards.
  Task<Result<Blob>> put_pages(BlobRef ref, ByteRange range, WrittenPayload payload, SequenceConditions wanted,
                               Conditions conditions);
  /// If there is more than one transaction can clear, clears it in several, from the front to the end.
  Task<Result<Blob>> clear_pages(BlobRef ref, ByteRange range, SequenceConditions wanted, Conditions conditions);
  Task<Result<Blob>> set_page_properties(BlobRef ref, PageProperties properties, Conditions conditions);
  /// Errors: kInvalidBlobType, kInvalidRange, kPreviousSnapshotNotFound.
  Result<PageRanges> get_page_ranges(const BlobRef& ref, const PageRangesRequest& request,
                                     const Conditions& conditions) const;

  Result<BlockLists> get_block_lists(const BlobRef& ref, const Conditions& conditions = {}) const;
  /// Reads the properties, but not the extents.
  Result<Blob> get_blob(const BlobRef& ref, const Conditions& conditions) const;
  /// Opens a blob of a shard that this process serves. `archived`: archived blobs may be read.
  Result<OpenedBlob> open_blob(const BlobRef& ref, const Conditions& conditions, bool archived = false) const;
  /// Opens a blob in any process. kServerBusy: no process serves its shard.
  Task<Result<OpenedBlob>> open_anywhere(BlobRef ref, Conditions conditions, bool archived = false);
  /// This and the next return the blob as it is afterwards.
  Task<Result<Blob>> set_headers(BlobRef ref, ContentHeaders headers, Conditions conditions);
  Task<Result<Blob>> set_metadata(BlobRef ref, Metadata metadata, Conditions conditions);
  /// Deletes the snapshot that the reference names, if any, else the blob; deletes staged blocks if there is nothing
  /// else. Returns true if it is gone for good, false if undelete brings it back. Errors: kSnapshotsPresent.
  Task<Result<bool>> delete_blob(BlobRef ref, DeleteSnapshots snapshots, Conditions conditions);
  Task<Result<void>> undelete_blob(BlobRef ref);
  /// Copies the blob's metadata if `metadata` is absent.
  Task<Result<SnapshotOutcome>> snapshot_blob(BlobRef ref, std::optional<Metadata> metadata, Conditions conditions);
  /// Shares the content of the source, or copies it if it is on another shard; ends when the copy is complete. Errors:
  /// kSourceConditionNotMet, kBlobArchived, kInvalidBlobType.
  Task<Result<CopyOutcome>> copy_blob(CopyRequest request, BlobRef ref, Conditions conditions);
  Task<Result<LeaseOutcome>> lease_blob(BlobRef ref, LeaseRequest request, Conditions conditions);
  Task<Result<LeaseOutcome>> lease_container(ContainerRef ref, LeaseRequest request, Conditions conditions);
  /// Neither tags nor the tier change the version.
  Task<Result<void>> set_tags(BlobRef ref, Tags tags, Conditions conditions);
  /// Sets the tier of the snapshot that the reference names, if any, else of the blob. Returns true if the blob was
  /// archived and no longer is. kInvalidBlobType.
  Task<Result<bool>> set_tier(BlobRef ref, std::string tier, Conditions conditions);
  /// Sorted by container, then by blob. The work is bounded: a page before the last may be short, even empty.
  Result<ListPage<FoundBlob>> find_by_tags(const std::string& account, const TagFind& find) const;
  /// Likewise: a page before the last may be short, even empty.
  Result<ListPage<ListedBlob>> list_blobs(const ContainerRef& ref, ListRequest request) const;

  /// For workers: each call is one transaction with its fence. A payload that was not used is abandoned.
  Task<Result<WriteOutcome>> put_if_newer(BlobRef ref, NewContent content, WrittenPayload payload, FencedWrite write);
  Task<Result<void>> stage_block(BlobRef ref, std::string block_id, WrittenPayload payload, Fence fence);
  /// Publishes these staged blocks as the blob, in this order. kInvalidBlockList if one no longer exists.
  Task<Result<WriteOutcome>> publish_if_newer(BlobRef ref, std::vector<std::string> block_ids, NewContent content,
                                              FencedWrite write);
  /// Erases a blob even if a client wrote it, if it still has this version; kConflict if it is leased or has snapshots.
  Task<Result<WriteOutcome>> discard_blob(BlobRef ref, Stamp version, Fence fence);
  /// Erases a copy of `source_version` or of an older one.
  Task<Result<WriteOutcome>> erase_unless_newer(BlobRef ref, FencedWrite write);

  /// For other processes, which use payloads of a shard that this one serves (storage/lent_payloads.h).
  Task<Result<std::uint64_t>> register_payload(std::size_t shard, std::string process);
  Result<void> abandon_payloads(std::size_t shard, const std::vector<std::uint64_t>& payloads);
  Result<void> keep_content(std::size_t shard, std::uint64_t content, std::string process, std::uint64_t reader);
  Result<void> let_go(std::size_t shard, std::string process, std::uint64_t reader);

  /// Returns the copies of containers, which have calls of their own (common/shards/owner_calls.h).
  [[nodiscard]] const shards::CatalogueCopies& catalogue_copies() const { return containers_; }

  [[nodiscard]] std::string new_guid() { return random_.guid(); }
  [[nodiscard]] Collector& collector(std::size_t shard = 0) { return shards_[shard].collector; }
  /// Called when payload files may be removed again.
  void collect_all();
  /// Begins no work in the background any more.
  void begin_shutdown();

 private:
  // The shard of a call's place.
  [[nodiscard]] std::size_t shard_at(const calls::BlobPlace& place) const {
    return shard_of({std::string(place.account), std::string(place.container), blob_name_of(std::string(place.name))});
  }
  [[nodiscard]] std::size_t shard_at(const rpc::OperationPlace& place) const {
    return home_of(place.account, place.operation_id);
  }
  [[nodiscard]] std::size_t shard_at(const BlobRef& ref) const { return shard_of(ref); }
  static std::size_t shard_at(rpc::ShardNumber place) { return place.shard; }

  struct Shard {
    Shard(std::size_t number_, const shards::Shard& stored, Clock& clock, const PayloadFiles& files,
          Executor background)
        : number(number_),
          engine(stored.engine),
          readers(clock),
          lent(clock),
          collector(engine, files, readers, clock, stored.ages, std::move(background)) {}
    const std::size_t number;
    kv::Engine& engine;
    Readers readers;
    LentPayloads lent;
    Collector collector;
    std::atomic<bool> lends = false;  // look_after() runs
  };
  [[nodiscard]] Shard& of(const BlobRef& ref) const {
    return shards_[stored_.placement.of({ref.account, ref.container, ref.name})];
  }
  /// Tells whether this process serves the shard.
  [[nodiscard]] bool serves(const Shard& shard) const { return peers() == nullptr || peers()->here(shard.number); }
  /// Returns null if all shards are here.
  [[nodiscard]] shards::Peers* peers() const { return stored_.peers; }
  [[nodiscard]] kv::Engine& catalogue() const { return stored_.catalogue().engine; }
  [[nodiscard]] bool divided() const { return shards_.size() > 1; }

  /// Runs a transaction on the shard that has the blob. If the shard does not know the container, or the container of
  /// another blob that the transaction reads, it is told first.
  using BlobBody = std::function<Result<void>(kv::Transaction&, const ShardPlace&)>;
  Task<Result<void>> transact(const BlobRef& ref, BlobBody body, const FailStep* step = nullptr,
                              std::optional<ContainerRef> other = {});
  Task<Result<void>> transact_elsewhere(const Shard& shard, BlobRef ref, BlobBody body, const FailStep* step,
                                        std::optional<ContainerRef> other);
  /// Tells the shard of the container, if it does not know it. kContainerNotFound: the container does not exist.
  Task<Result<void>> know_container(const Shard& shard, ContainerRef ref) const;
  [[nodiscard]] ShardPlace place_on(const Shard& shard) const { return {shard.number, &containers_}; }
  /// Returns the generation of the container for these rows of a shard, which need not know it.
  [[nodiscard]] Result<std::uint64_t> generation_in(const kv::Reader& rows, const Shard& shard,
                                                    const ContainerRef& ref) const;
  /// Returns the current blob of this name, if any. kContainerNotFound.
  [[nodiscard]] Result<std::optional<Blob>> current_blob(const BlobRef& ref) const;
  Result<std::uint64_t> open_kept(const BlobRef& ref, const Conditions& conditions, bool archived, std::uint64_t kept,
                                  OpenedBlob& opened) const;
  /// Asks the process that serves the shard to keep a content.
  Task<Result<std::shared_ptr<const ReadingRight>>> right_elsewhere(std::size_t shard, std::uint64_t content);
  class RightElsewhere;
  Task<Result<void>> abandon_elsewhere(const Shard& shard, std::vector<PayloadId> abandoned);
  /// Looks after the users of lent payloads, as long as there are any.
  void look_after_lent(Shard& shard);
  Task<Result<void>> look_after(Shard& shard);
  [[nodiscard]] Result<Blob> existing_blob(const kv::Reader& rows, const Shard& shard, const BlobRef& ref,
                                           const Conditions& conditions) const;
  Result<Stamp> next_version(kv::Transaction& txn) const;
  Task<Result<Stamp>> change_container(ContainerRef ref, Conditions conditions, std::function<void(Container&)> change);
  Task<Result<Blob>> change_blob(BlobRef ref, Conditions conditions, std::function<void(Blob&)> change);
  /// Stores a blob of the type that it has, without content.
  Task<Result<Stamp>> create_empty(BlobRef ref, Blob blob, Conditions conditions);
  using TypedChange = std::function<Result<void>(kv::Transaction&, Ids, Blob&)>;
  enum class Versioned : bool { kAsBefore, kNew };
  /// Changes a blob of this type and its content. Errors: kInvalidBlobType.
  Task<Result<Blob>> change_typed(BlobRef ref, BlobType type, Conditions conditions, TypedChange change,
                                  const FailStep& step, Versioned versioned = Versioned::kNew);
  /// Reads the bytes in files of the cells where the range begins and ends, if the cells may have to be rewritten.
  std::vector<FileBytes> read_cells(const BlobRef& ref, const ByteRange& range) const;
  /// Turns the range into a hole and then calls `last` with the blob; all in one transaction if possible.
  Task<Result<Blob>> clear_range(BlobRef ref, std::function<Result<ByteRange>(const Blob&)> range,
                                 std::function<Result<void>(Blob&)> last, Conditions conditions);
  /// Stores a blob with a new version; it replaces the current one, if any.
  Result<void> replace(kv::Transaction& txn, const CurrentBlob& current, const std::string& name, Blob& blob) const;
  /// Returns true if that leaves work for the collector.
  Result<bool> write_whole(kv::Transaction& txn, const CurrentBlob& current, const std::string& name,
                           const WrittenPayload& payload, Blob& blob) const;
  Result<void> write_blocks(kv::Transaction& txn, const CurrentBlob& current, const std::string& name,
                            const std::vector<BlockChoice>& choices, Blob& blob) const;
  /// Gives up the content of `current`, or keeps it as long as the account retains it.
  Result<void> discard(kv::Transaction& txn, const CurrentBlob& current, const std::string& name,
                       bool as_snapshot) const;
  /// Changes the kept blobs of a blob when no earlier change of them is left to settle: storage/kept_blobs.h. `kept`:
  /// settles those of this blob instead, which is on the same shard.
  Task<Result<void>> change_settled(BlobRef ref, BlobBody change, const FailStep& step,
                                    std::optional<BlobRef> kept = {});
  /// Deleted snapshots are retained for this many days.
  Result<void> drop_snapshot(kv::Transaction& txn, const CurrentBlob& current, const BlobRef& ref,
                             const Conditions& conditions, std::uint32_t days) const;
  Result<void> drop_snapshots(kv::Transaction& txn, const CurrentBlob& current, const std::string& name,
                              DeleteSnapshots wanted, std::uint32_t days) const;
  Result<void> erase_blob(kv::Transaction& txn, const CurrentBlob& current, const std::string& name) const;
  /// Returns true if it replaced a block with this id.
  Result<bool> write_staged(kv::Transaction& txn, Ids ids, std::uint64_t generation, const std::string& name,
                            const std::string& block_id, const WrittenPayload& payload) const;
  using FencedEffect = std::function<Result<WriteOutcome>(kv::Transaction&, const ShardPlace&)>;
  Task<Result<WriteOutcome>> write_fenced(BlobRef ref, Fence fence, FencedEffect effect, std::uint32_t step = 0);
  Task<Result<void>> note_payload_folder();
  Task<Result<void>> finish_deletions();
  Task<Result<CopyOutcome>> copy_shared(CopyRequest request, BlobRef ref, Conditions conditions);
  Task<Result<CopyOutcome>> copy_bytes(CopyRequest request, BlobRef ref, Conditions conditions);

  const shards::Shards stored_;
  Clock& clock_;
  Random& random_;
  const PayloadFiles& files_;
  const Executor background_;
  mutable std::deque<Shard> shards_;
  std::atomic<bool> stopping_ = false;
  Signal stopped_;
  std::atomic<std::uint64_t> next_reader_ = 0;                                 // of contents that other processes keep
  std::shared_ptr<BlobService*> self_ = std::make_shared<BlobService*>(this);  // for readers that may outlive this
  std::string payload_folder_;  // the id of the folder, if processes share the shards
  const ContainerRows rows_{[this](std::size_t shard) { shards_[shard].collector.kick(); }};
  shards::CatalogueCopies containers_{stored_, clock_, blob_keys::kContainerCopy, rows_};
};

}  // namespace tidemark::blob_store
