// The arguments and results of the operations on blobs. Plain values.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "blob_store/model/blob.h"
#include "blob_store/model/block_list.h"
#include "blob_store/model/byte_range.h"
#include "blob_store/model/conditions.h"
#include "blob_store/model/page_extents.h"
#include "blob_store/model/tag_query.h"

namespace tidemark::blob_store {

/// The first item of a page. Kept blobs come before the blob itself.
struct ListPlace {
  std::string name;           // empty: the first of all
  std::optional<Stamp> kept;  // set: this kept blob
};
struct ListRequest {
  std::string prefix, delimiter;
  ListPlace from;
  std::size_t limit = 5000;
  bool with_snapshots = false, with_deleted = false, with_uncommitted = false;
  bool with_system = false;  // containers only: also hidden ones
};
template <class Item>
struct ListPage {
  std::vector<Item> items;
  ListPlace next;  // `from` of the next page; it has no name after the last page
};
struct NamedContainer {
  std::string name;
  Container container;
};
struct ListedBlob {
  std::string name;
  bool folded = false;  // a common prefix: the other fields have no meaning
  Blob blob = {};
  std::optional<Stamp> snapshot = {};
  std::optional<Time> deleted = {};
  std::uint32_t retained_days = 0;  // deleted blobs only
  bool uncommitted = false;         // there are only staged blocks
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

/// The outcome of a change of a blob, for the client.
struct ChangedBlob {
  Stamp version;
  std::optional<std::uint64_t> sequence_number;  // page blobs only
};
struct LeaseOutcome {
  LeaseAnswer lease;
  Stamp version;  // the version of the blob or the container
};
struct SnapshotOutcome {
  Stamp snapshot;
  Stamp version;  // the version of the blob
};
/// The options of a copy; the source gives the fields that are absent.
struct CopyRequest {
  BlobRef source;
  std::string source_url;
  Conditions source_conditions;
  ContentHeaders headers;
  bool own_headers = false;  // headers that are not given are not taken from the source, either
  std::optional<Metadata> metadata;
  std::optional<Tags> tags;  // absent: none
  bool copy_tags = false;
  std::string tier;
  bool rehydrates = false;           // the source may be archived; the copy is not
  bool needs_endless_lease = false;  // if the destination is leased, its lease must be endless
  std::optional<bool> sealed;
  /// Put Blob From URL: makes a block blob that does not show that it is a copy.
  bool as_new_block_blob = false;
};
struct CopyOutcome {
  Stamp version;
  std::string id;   // the id of the copy
  std::string md5;  // the MD5 of the content, if it is known
};
/// The effect of a deletion on the snapshots of a blob; kNone refuses if there are any.
enum class DeleteSnapshots : std::uint8_t { kNone = 1, kInclude = 2, kOnly = 3, kLast = kOnly };
/// The conditions of an append on the current blob.
struct AppendConditions {
  std::optional<std::uint64_t> position = {};  // the size that the blob must have
  std::optional<std::uint64_t> max_size = {};  // the size with the new block must not exceed this
};
struct AppendOutcome {
  Stamp version;
  std::uint64_t offset = 0;  // the position of the block
  std::uint64_t blocks = 0;
};

/// The conditions of a write of pages on the current sequence number.
struct SequenceConditions {
  std::optional<std::uint64_t> at_most = {}, below = {}, equal = {};
};
enum class SequenceAction : std::uint8_t { kMax = 1, kUpdate = 2, kIncrement = 3, kLast = kIncrement };
struct SequenceChange {
  SequenceAction action = SequenceAction::kIncrement;
  std::uint64_t number = 0;  // not used by kIncrement
};
/// Properties that are absent stay as they are.
struct PageProperties {
  std::optional<ContentHeaders> headers = {};
  std::optional<std::uint64_t> size = {};
  std::optional<SequenceChange> sequence = {};
};
struct PageRangesRequest {
  std::optional<ByteRange> range = {};  // it may go beyond the end
  std::optional<Stamp> previous = {};   // only changes since this snapshot
  std::uint64_t from = 0;               // the beginning of the page
  std::size_t limit = 10'000;
};
struct PageRanges {
  Blob blob;
  std::vector<ChangedRange> ranges;
  std::optional<std::uint64_t> next;  // `from` of the next page
};

}  // namespace tidemark::blob_store
