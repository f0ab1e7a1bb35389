// The rows of the kinds `lists` and `summary`: the keys of a group's entities, in pieces. A key belongs to the piece
// with the lowest bound that is not below the key's hash; a piece that is too large is divided at its median, and one
// that has become small joins its neighbour when both fit into half a piece, under the higher bound. So a change reads
// and writes a piece or two, however large the group is, and the cost of reading a group depends on its present size.
//   PartitionKey  across: the group          in the entity's partition: that partition's key
//   RowKey        across: "keys_" BOUND      in the partition: NAME "_" group "_" BOUND      BOUND: 16 hex digits
//   Group   String   the group's text                Count  Int32   entities in this piece
//   Keys    String   JSON: [[PartitionKey, RowKey], ...], or [[PartitionKey, RowKey, value], ...] in a summary,
//                    in the order of the hashes; values that JSON has no numbers for are "Infinity", "-Infinity", "NaN"
// If the lists are in blobs, such a row is in the table TidemarkIndexes, and instead of Keys it has
//   Blob    String   the name of the blob with the keys' text (blob_names.h)        Bytes  Int64  the text's length
// The summary of a group has RowKey "summary" and stands beside the group's pieces:
//   Group String   Count Int64   Sum (Int64, or Double if any value is)   Min, Max as the property is
// where Sum, Min and Max are absent as long as no entity has the property as a number. For Min and Max, NaN does not
// count as a number.
// An index job writes the same pieces in a form of its own (PieceForm). Pure.
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/error.h"
#include "indexes/definition/definition.h"
#include "table_store/model/entity.h"

namespace tidemark::indexes {

/// The limit for the text of a piece's keys, in UTF-16 units. The protocol's limit for a String is 32 Ki, so a piece is
/// at most 64 KiB.
inline constexpr std::size_t kPieceUnits = 30'000;
/// kPieceUnits, or less in a simulation, because its lists are short.
std::atomic<std::size_t>& piece_units();
/// The limit for the keys of a piece in a blob.
inline constexpr std::size_t kBlobPieceBytes = 256UL << 10;
inline constexpr std::string_view kSummaryRow = "summary";

using Number = std::variant<std::monostate, std::int64_t, double>;
/// Tells whether both have the same type and value; NaN equals NaN.
bool same(const Number& a, const Number& b);

std::uint64_t entry_hash(std::string_view partition_key, std::string_view row_key);

struct ListEntry {
  std::string partition_key, row_key;
  Number value = {};  // only in a summary
  mutable std::uint64_t known_hash = 0;

  /// Returns the hash of the keys, which is computed on the first call.
  [[nodiscard]] std::uint64_t hash() const {
    if (known_hash == 0) known_hash = entry_hash(partition_key, row_key);
    return known_hash;
  }
  bool operator==(const ListEntry& other) const {
    return partition_key == other.partition_key && row_key == other.row_key && same(value, other.value);
  }
};

/// The form of the rows of pieces.
struct PieceForm {
  std::string_view group, keys;  // names of properties
  std::string_view last_row;     // the key of the last piece's row; empty: it is made of the bound, as for the others
  std::size_t most_bytes = 0;    // the limit for the text of a piece's keys; 0: the limit of a property
};
inline constexpr PieceForm kListForm{"Group", "Keys", ""};
/// The form of a row before its keys are put into a blob, and after they were read from there.
inline constexpr PieceForm kBlobListForm{"Group", "Keys", "", kBlobPieceBytes};
inline constexpr std::string_view kBlobProperty = "Blob";
inline constexpr std::string_view kBytesProperty = "Bytes";
/// The form for index jobs. Most values have one piece, so the key of its row is always the same.
inline constexpr PieceForm kIndexJobForm{"Value", "Keys0", "000000"};

/// The place of a group's pieces.
struct GroupPlace {
  std::string partition_key;
  std::string row_prefix;
  std::string_view last_row = {};  // sorts behind the prefix
  [[nodiscard]] std::string row_key(std::uint64_t bound) const;
  /// Tells whether a piece of the group may have this row. In a partition, rows of other groups lie between: those of
  /// New_York between those of New.
  [[nodiscard]] bool has(std::string_view row_key) const;
  /// The length of the row keys; 0 if no other group has rows in the partition.
  [[nodiscard]] std::uint32_t row_key_bytes() const;
  /// The first row key behind those of the pieces.
  [[nodiscard]] std::string end() const;
  /// Returns the filter of a query for the group's pieces from this bound on.
  [[nodiscard]] std::string filter_from(std::uint64_t bound) const;
};
GroupPlace group_across(std::string_view group);
/// For the kind denormalised: the entities that refer to one. The group is made of the values of that entity's keys.
GroupPlace references_to(std::string_view index_id, std::string_view group);
/// The beginning of the partition keys of an index's references; ' ' follows.
std::string references_of(std::string_view index_id);
/// For lists in blobs: the rows that name the blobs.
GroupPlace group_in_blobs(std::string_view index_id, std::string_view group);
/// The beginning of the partition keys of an index's lists in blobs; ' ' follows.
std::string lists_of(std::string_view index_id);
/// The beginning of the row keys of an index's lists in partitions.
std::string rows_in_partition(std::string_view index_name);
GroupPlace group_in_partition(std::string_view index_name, std::string_view partition_key, std::string_view group);
/// The place of a value's keys for an index job. The partition key is the value's text, with %XX for '%' and for
/// characters that a key cannot have; if it is too long, it is "%sha256:" and the value's digest.
GroupPlace group_of_value(std::string_view value);

struct ListPiece {
  std::uint64_t bound = ~std::uint64_t{0};
  std::string group;
  std::vector<ListEntry> entries;  // in the order of their hashes
};
/// The end of the key of the last piece's row.
inline constexpr std::string_view kLastBound = "ffffffffffffffff";
/// Returns the bound in the key of a piece's row; nothing if there is none.
std::optional<std::uint64_t> bound_of(std::string_view row_key, const PieceForm& form = kListForm);
/// Reads a piece from its row. kCorruption if the row is not a piece.
Result<ListPiece> read_piece(const table_store::Entity& row, const PieceForm& form = kListForm);

/// Returns the size of a piece's keys, or of the keys in this row. A row that is not a piece counts as larger than any
/// piece.
std::size_t piece_size(const ListPiece& piece, const PieceForm& form = kListForm);
std::size_t piece_size(const table_store::Entity& row, const PieceForm& form = kListForm);
/// Tells whether pieces with this total size are to be joined.
bool is_small(std::size_t size, const PieceForm& form = kListForm);

struct PieceRow {
  std::uint64_t bound = 0;
  std::vector<table_store::Property> properties;
};
/// Divides the piece into as many rows as are needed for none to be too large, in the order of their bounds. The last
/// has the bound of `piece`. Without entries there are no rows. The group is left out if it is longer than a property
/// may be.
std::vector<PieceRow> piece_rows(const ListPiece& piece, const PieceForm& form = kListForm);

}  // namespace tidemark::indexes
