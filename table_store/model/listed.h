// Rows that list entities, as the index entities of the table design guide do: a property of such a row has the keys of
// entities as JSON, [[PartitionKey, RowKey, ...], ...]. Reading the rows, what they list, and how true they are, all
// from one snapshot. Plain values.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "table_store/model/query.h"

namespace tidemark::table_store {

inline constexpr std::uint32_t kMaxListed = 1000;

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
  /// A row of any table that is read beside them.
  struct Place {
    std::string table, partition_key, row_key;
  };
  Place beside = {};
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

/// The block of an entity's properties; empty, which is none, if the page has no such place.
inline std::string_view block_in(std::string_view blocks, const StoredEntity& entity) {
  return entity.at > blocks.size() ? std::string_view() : blocks.substr(entity.at, entity.bytes);
}

}  // namespace tidemark::table_store
