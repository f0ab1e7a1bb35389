// Rows by which entities are found, read together with whether they are current, all from one snapshot. There are two
// kinds:
//   rows that list entities, as the index entities of the table design guide do: a property of such a row has the keys
//   of entities as JSON, [[PartitionKey, RowKey, ...], ...]
//   copies, each of one entity, whose keys are in its mark (Origin)
// Plain values.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "table_store/model/entity_lists.h"
#include "table_store/model/query.h"

namespace tidemark::table_store {

inline constexpr std::uint32_t kMaxListed = 1000;
/// Queries use lists as long as no more changes than this wait for the lists' follower: so many are read in about 2 ms.
inline constexpr std::size_t kMostUnsettled = 5000;

struct ListedKey {
  std::string partition_key, row_key;
};

struct ListedRequest {
  std::string table;       // of the rows that list
  RowSearch rows;          // selects the rows
  std::string property;    // the one that has the keys
  std::string follower;    // the maker of the rows; rows of other makers are left out
  std::string entities;    // the table that it follows, which has the listed entities
  std::uint32_t most = 0;  // keys to look at: 1..1000
  /// True: reads all listed entities. False: reads only those for which changes wait.
  bool all = false;
  Selection selection = {};  // of the entities
  ListedPlace beside = {};   // read beside the others
};

/// Without its keys, which the reader knows.
struct StoredEntity {
  Version version = 0;
  std::uint64_t at = 0, bytes = 0;  // where its properties are in ListedPage::blocks
};

struct ListedEntity {
  /// The entity is unchanged since the follower last processed it. False also if that is unknown: the follower does not
  /// exist or is stale, the table was dropped, or too many changes wait.
  bool settled = false;
  /// The present entity; nothing if it does not exist, or was not asked for.
  std::optional<StoredEntity> now;
};

struct ListingRow {
  Entity row;
  std::vector<ListedEntity> listed;  // for the first of its keys, in order
};

struct ListedPage {
  std::vector<ListingRow> rows;  // until they list as many entities as were asked for
  std::string blocks;            // of the properties of all entities (property_block.h)
  /// Some rows, or some of the entities that they list, were not looked at.
  bool more = false;
  std::optional<Entity> beside;  // nothing if the row or its table does not exist
};

struct CopiesRequest {
  std::string table;       // of the copies
  RowSearch rows;          // selects the copies
  std::string follower;    // the maker of the copies; rows of other makers are left out
  std::string entities;    // the table that it follows
  std::uint32_t most = 0;  // copies to look at: 1..1000
  enum class Show : std::uint8_t { kKeys = 1, kCopies, kEntities, kLast = kEntities };
  /// Selects the content to return for settled copies; for the others, it is the entity.
  Show show = Show::kEntities;
  Selection selection = {};
  ListedPlace beside = {};
};

struct FoundCopy {
  std::string row_key;
  ListedKey of;
  bool settled = false;  // as in ListedEntity
  /// The copy, with the version of the entity that it shows, or the present entity; nothing if that does not exist, or
  /// only the key was asked for.
  std::optional<StoredEntity> shown;
};

struct CopiesPage {
  std::vector<FoundCopy> copies;
  std::string blocks;  // as in ListedPage
  std::string next;    // the first RowKey that was not looked at; empty: all were
  std::optional<Entity> beside;
};

/// Returns the block of an entity's properties; an empty view, which is no valid block, if the blocks have no such
/// place.
inline std::string_view block_in(std::string_view blocks, const StoredEntity& entity) {
  return entity.at > blocks.size() ? std::string_view() : blocks.substr(entity.at, entity.bytes);
}

}  // namespace tidemark::table_store
