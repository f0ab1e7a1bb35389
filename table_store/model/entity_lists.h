// Rows that list the entities of a table by their values, as an index stores them (indexes/rows/list_piece.h). A query
// whose filter asks for the same values need not look at the whole table. Plain values.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace tidemark::table_store {

/// A row of any table.
struct ListedPlace {
  std::string table, partition_key, row_key;
  bool operator==(const ListedPlace&) const = default;
};

/// Describes the rows of a set of lists.
struct EntityLists {
  std::string index;            // its name, for people
  std::string table;            // of the rows
  std::vector<std::string> by;  // properties; PartitionKey and RowKey too. Their values are a group (group_text.h).
  std::string filter;           // OData: only entities that match it are listed; empty: all
  /// False: a group's rows are in the partition whose key is the group, and their RowKeys begin with `row_prefix`.
  /// True: they are in the partition of their entities, and their RowKeys begin with `row_prefix`, the group, and '_'.
  /// In both cases 16 hex digits follow: hashes are spread evenly, and a row has the hashes above those of the previous
  /// row, up to its own.
  bool in_partition = false;
  std::string row_prefix;
  std::string group, keys;  // properties of a row: the group's text, and the entities' keys as JSON
  /// As long as this row's property `state` has the value `complete`, the lists have every entity that is in a group,
  /// except for changes that wait for the follower.
  ListedPlace progress;
  std::string state, complete;
  bool operator==(const EntityLists&) const = default;
};

/// The content of the rows that a follower makes in the table that it follows.
struct OwnRows {
  bool anything = false;
  std::vector<std::string> properties;  // unless `anything`, only these
  bool operator==(const OwnRows&) const = default;
};

}  // namespace tidemark::table_store
