// Stored rows of the table store as whole values. The product reads them in place (EntityKeyReader, EntityView).
#pragma once
#include "table_store/storage/table_keys.h"
#include "table_store/storage/table_records.h"

namespace tidemark::table_store {

struct EntityKeyParts {
  std::string partition_key, row_key;
};
inline std::optional<EntityKeyParts> parse_entity_key(std::string_view key) {
  EntityKeyReader reader;
  if (!reader.read(key)) return std::nullopt;
  return EntityKeyParts{std::string(reader.partition_key), std::string(reader.row_key)};
}

inline std::string encode_entity(Version version, std::optional<Version> source_version,
                                 const std::vector<Property>& properties, std::string_view operation = {},
                                 bool restored = false) {
  return encode_entity(version, source_version, std::string_view(property_block(properties)), operation, restored);
}
/// Decodes everything except the keys.
inline Result<void> decode_entity(std::string_view bytes, Entity& into) {
  const auto view = TRY(view_entity(bytes));
  if (!is_property_block(view.block)) return fail(ErrorCode::kCorruption);
  into = view.to_entity();
  return {};
}

}  // namespace tidemark::table_store
