// Rows by which entities are found, read with how true they are, all from one snapshot. There are two kinds of them:
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
/// Queries go by lists as long as no more changes wait for whoever makes them: these are read in about 2 ms.
inline constexpr std::size_t kMostUnsettled = 5000;

struct ListedKey {
  std::string partition_key, row_key;
};

struct ListedRequest {
  std::string table;       // of the rows that list
  RowSearch rows;          // which of them
  std::string property;    // that has the keys
  std::string follower;    // who makes the rows; others' are left out
  std::string entities;    // the table that it follows: of what is listed
  std::uint32_t most = 0;  // keys to look at: 1..1000
  /// Otherwise only those entities are read whose changes wait.
  bool all = false;
  Selection selection = {};  // of the entities
  ListedPlace beside = {};   // read beside the others
};

/// Whoever asks for it knows its keys.
struct StoredEntity {
  Version version = 0;
  std::uint64_t at = 0, bytes = 0;  // where its properties are in ListedPage::blocks
};

struct ListedEntity {
  /// It is what it was when the follower dealt with it last. False also if that is not known: the follower is not there
  /// or stale, the table was dropped, or too many changes wait.
  bool settled = false;
  /// As it is now; nothing if it is not there, or was not asked for.
  std::optional<StoredEntity> now;
};

struct ListingRow {
  Entity row;
  std::vector<ListedEntity> listed;  // for the first of its keys, in their order
};

struct ListedPage {
  std::vector<ListingRow> rows;  // until they list as many as were asked for
  std::string blocks;            // of the properties of all entities (property_block.h)
  /// Not all rows, or not all that they list, were looked at.
  bool more = false;
  std::optional<Entity> beside;  // nothing if it or its table is not there
};

struct CopiesRequest {
  std::string table;       // of the copies
  RowSearch rows;          // which of them
  std::string follower;    // who makes them; others' rows are left out
  std::string entities;    // the table that it follows
  std::uint32_t most = 0;  // copies to look at: 1..1000
  enum class Show : std::uint8_t { kKeys = 1, kCopies, kEntities, kLast = kEntities };
  /// Of those that are settled; of the others, the entity.
  Show show = Show::kEntities;
  Selection selection = {};
  ListedPlace beside = {};
};

struct FoundCopy {
  std::string row_key;
  ListedKey of;
  bool settled = false;  // as in ListedEntity
  /// The copy, with the version of the entity that it shows, or the entity as it is now; nothing if that is not there,
  /// or only the key was asked for.
  std::optional<StoredEntity> shown;
};

struct CopiesPage {
  std::vector<FoundCopy> copies;
  std::string blocks;  // as in ListedPage
  std::string next;    // the RowKey that was not looked at yet; empty: all were
  std::optional<Entity> beside;
};

/// The block of an entity's properties; empty, which is none, if the blocks have no such place.
inline std::string_view block_in(std::string_view blocks, const StoredEntity& entity) {
  return entity.at > blocks.size() ? std::string_view() : blocks.substr(entity.at, entity.bytes);
}

}  // namespace tidemark::table_store
