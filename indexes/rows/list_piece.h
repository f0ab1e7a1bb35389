// The rows of the kinds `lists` and `summary`: the keys of a group's entities, in pieces. A key belongs to the piece
// with the lowest bound that is not below the key's hash; a piece that is too large is divided at its median. So a
// change reads and writes one piece, however large the group is.
//   PartitionKey  across: the group          in the entity's partition: that partition's key
//   RowKey        across: "keys_" BOUND      in the partition: NAME "_" group "_" BOUND      BOUND: 16 hex digits
//   Group   String   the group's text                Count  Int32   entities in this piece
//   Keys    String   JSON: [[PartitionKey, RowKey], ...], of a summary [[PartitionKey, RowKey, value], ...],
//                    in the order of the hashes; values that JSON has no numbers for are "Infinity", "-Infinity", "NaN"
// If the lists are in blobs, such a row is in the table TidemarkIndexes, and instead of Keys it has
//   Blob    String   the name of the blob with the keys' text (blob_names.h)        Bytes  Int64  how long that is
// A group's summary has RowKey "summary" beside its pieces:
//   Group String   Count Int64   Sum (Int64, or Double if any value is)   Min, Max as the property is
// where Sum, Min and Max are absent as long as no entity has the property as a number, of which NaN is none to Min and
// Max.
// An index job writes the same pieces in a form of its own (PieceForm). Pure.
#pragma once
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

/// Of the text of a piece's keys, in UTF-16 units; the protocol's limit for a String is 32 Ki. A piece is at most 64
/// KiB.
inline constexpr std::size_t kPieceUnits = 30'000;
/// Of a piece in a blob.
inline constexpr std::size_t kBlobPieceBytes = 256UL << 10;
inline constexpr std::string_view kSummaryRow = "summary";

using Number = std::variant<std::monostate, std::int64_t, double>;
/// Of the same type and value; NaN is NaN.
bool same(const Number& a, const Number& b);

std::uint64_t entry_hash(std::string_view partition_key, std::string_view row_key);

struct ListEntry {
  std::string partition_key, row_key;
  Number value = {};  // of a summary
  mutable std::uint64_t known_hash = 0;

  /// Of the keys; computed when it is first asked for.
  [[nodiscard]] std::uint64_t hash() const {
    if (known_hash == 0) known_hash = entry_hash(partition_key, row_key);
    return known_hash;
  }
  bool operator==(const ListEntry& other) const {
    return partition_key == other.partition_key && row_key == other.row_key && same(value, other.value);
  }
};

/// What the rows of pieces look like.
struct PieceForm {
  std::string_view group, keys;  // properties
  std::string_view last_row;     // the last piece's row; empty: like the others, by its bound
  std::size_t most_bytes = 0;    // of the text of a piece's keys; 0: as much as a property may have
};
inline constexpr PieceForm kListForm{"Group", "Keys", ""};
/// Before the keys are put into a blob, and after they were read from there.
inline constexpr PieceForm kBlobListForm{"Group", "Keys", "", kBlobPieceBytes};
inline constexpr std::string_view kBlobProperty = "Blob";
inline constexpr std::string_view kBytesProperty = "Bytes";
/// Of index jobs: most values have one piece, whose row everybody can name.
inline constexpr PieceForm kIndexJobForm{"Value", "Keys0", "000000"};

/// Where the pieces of a group are.
struct GroupPlace {
  std::string partition_key;
  std::string row_prefix;
  std::string_view last_row = {};  // sorts behind the prefix
  [[nodiscard]] std::string row_key(std::uint64_t bound) const;
  /// Whether a piece of the group may have this row. In a partition, rows of other groups lie between: those of
  /// New_York between those of New.
  [[nodiscard]] bool has(std::string_view row_key) const;
  /// A row's, of all but the last; 0 if no other group has rows in the partition.
  [[nodiscard]] std::uint32_t row_key_bytes() const;
  /// The first row key that is none of theirs.
  [[nodiscard]] std::string end() const;
  /// Of a query for the group's pieces from this bound on.
  [[nodiscard]] std::string filter_from(std::uint64_t bound) const;
};
GroupPlace group_across(std::string_view group);
/// Of the kind denormalised: what refers to an entity. Group: the values of its keys.
GroupPlace references_to(std::string_view index_id, std::string_view group);
/// What the partitions of an index's references begin with; ' ' follows.
std::string references_of(std::string_view index_id);
/// Of lists in blobs: the rows that say in which.
GroupPlace group_in_blobs(std::string_view index_id, std::string_view group);
/// What the partitions of an index's lists in blobs begin with; ' ' follows.
std::string lists_of(std::string_view index_id);
/// What the rows of an index's lists in partitions begin with.
std::string rows_in_partition(std::string_view index_name);
GroupPlace group_in_partition(std::string_view index_name, std::string_view partition_key, std::string_view group);
/// Of an index job. The partition's key is the value's text, with %XX for '%' and what a key cannot have; one that is
/// too long is "%sha256:" and its digest.
GroupPlace group_of_value(std::string_view value);

struct ListPiece {
  std::uint64_t bound = ~std::uint64_t{0};
  std::string group;
  std::vector<ListEntry> entries;  // by hash
};
/// With which the key of the last piece's row ends.
inline constexpr std::string_view kLastBound = "ffffffffffffffff";
/// The bound in the key of a piece's row.
std::optional<std::uint64_t> bound_of(std::string_view row_key, const PieceForm& form = kListForm);
/// kCorruption if the row is not a piece.
Result<ListPiece> read_piece(const table_store::Entity& row, const PieceForm& form = kListForm);

struct PieceRow {
  std::uint64_t bound = 0;
  std::vector<table_store::Property> properties;
};
/// As many rows as are needed for none to be too large, by bound; the last has the bound of `piece`. None for no
/// entries. The group is left out where it is longer than a property may be.
std::vector<PieceRow> piece_rows(const ListPiece& piece, const PieceForm& form = kListForm);

}  // namespace tidemark::indexes
