// Queries and their answers, page by page. Plain values.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "table_store/model/entity.h"

namespace tidemark::table_store {

/// Where a scan continues: the first entity that was not returned yet.
struct Continuation {
  std::string partition_key, row_key;
};
/// Encodes a continuation for checkpoints and JSON: base64 of two strings (common/base/bytes.h), empty for none.
std::string text_of(const std::optional<Continuation>& next);
/// kInvalidInput.
Result<std::optional<Continuation>> continuation_in(std::string_view text);

struct QueryRequest {
  std::string table;
  std::string filter;         // OData text; empty for all
  std::uint32_t top = 1000;   // 1..1000
  std::string continuation;   // from the page before; empty for the first page. May be kept in a checkpoint.
  std::string operation;      // if given: only copies that this operation wrote
  bool count_only = false;    // the page has `count` and no entities
  std::string follower;       // if given: only rows that this follower has made
  bool sources_only = false;  // leaves out the rows that followers of this table have made in it
  bool by_lists = false;      // lists of the table's followers may be used (entity_lists.h)
  Selection selection = {};
  Duration patience{};  // if given: a page ends after about this time, even if it is not full; 5 s at most
};

/// A search in a partition for the first row from `from` on, if it is before `before`. An empty `before` is the end.
struct RowSearch {
  std::string partition_key, from, before;
  /// If given: rows with a RowKey of another length are passed over, at most kMostPassedOver of them, and no more after
  /// kMostBytesPassedOver. The row behind those is found, however long its key is, and the search may go on behind it.
  std::uint32_t row_key_bytes = 0;
  bool last = false;       // finds the last such row instead of the first
  bool keys_only = false;  // the row is found without its properties
};
inline constexpr int kMostPassedOver = 1000;
inline constexpr std::size_t kMostBytesPassedOver = 1UL << 20;

struct FoundRows {
  std::vector<std::optional<Entity>> rows;  // one for each search, as far as there was room
  /// For each of them: the version of its shard's snapshot. Versions of different shards cannot be compared.
  std::vector<Version> as_of;
};

struct QueryPage {
  std::uint64_t count = 0;       // entities that match
  std::vector<Entity> entities;  // in (PartitionKey, RowKey) order
  std::string continuation;      // empty at the end; a page may be empty and still have one
  std::uint64_t searched = 0;    // entities before the continuation that were read, whether they match or not
  std::string index;             // the index whose lists were used; empty: none
};

/// Returns the continuation just behind the last entity of the page; empty at the end. The page's own continuation
/// names the next row that there was, so a row that is put before that one meanwhile, such as a piece of a list that
/// was divided, would be missed.
std::string text_behind(const QueryPage& page);

/// Names of tables, in case-insensitive order.
struct TablePage {
  std::vector<std::string> names;
  std::optional<std::string> next;  // the first name of the next page
};

}  // namespace tidemark::table_store
