// The form of an index table, pure. One value of the indexed property is one partition; its entities' keys are in
// pieces '000000', '000001', ... of at most about 256 KiB each:
//   PartitionKey  the value's text, encoded (encode_index_key)      RowKey  number of the piece
//   Value         the value's text as it is                         Count   Int32, keys in this piece
//                 (absent where it is longer than a property may be, as Base64 of a long Binary: its digest is in the key)
//   Keys0..Keys2  JSON arrays of [PartitionKey, RowKey]             SourceVersion  Int64, see index.h
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/spec/job_spec.h"
#include "jobs/spec/key_template.h"
#include "table_store/model/entity.h"

namespace tidemark::workers {

/// Per Keys property, in UTF-16 units; the protocol's limit is 32 Ki.
inline constexpr std::size_t kKeysUnits = 30'000;
/// With Value (at most 64 KiB) a piece stays under 256 KiB of UTF-16.
inline constexpr std::size_t kKeysPerPiece = 3;

/// Forbidden key characters and '%' become %XX. Longer than a key may be: "%sha256:" and the digest, which no other
/// value can yield since a '%' is always followed by two upper-case hex digits.
std::string encode_index_key(std::string_view value_text);
std::string piece_row_key(std::size_t number);

struct IndexPiece {
  std::string row_key;
  std::vector<table_store::Property> properties;
  std::uint64_t entities = 0;  // whose keys it lists
};
/// `keys` in order, without repeats.
std::vector<IndexPiece> make_pieces(std::string_view value, const std::vector<jobs::EntityKey>& keys,
                                    table_store::Version source_version);
/// Whether the entity has the form of a piece: only such are ever removed.
bool is_piece(const table_store::Entity& entity);

}  // namespace tidemark::workers
