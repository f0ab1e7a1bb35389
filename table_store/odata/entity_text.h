// An entity as one line of JSON, as archives store it. It has the form of the table endpoint's answers with minimal
// metadata, so the same parser reads it. Timestamp (to 100 ns) and ETag have the version. EDM types that JSON does not
// imply are annotated (@odata.type), so the entity is read back exactly. Pure.
#pragma once
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "table_store/model/entity.h"

namespace tidemark::table_store {

/// The member that names the operation which wrote the text; no property can have such a name.
inline constexpr std::string_view kOperationMember = "tidemark.job";

/// The member that names the archive which the text belongs to.
inline constexpr std::string_view kArchiveMember = "tidemark.archive";

/// Appends one JSON object without a line break. The source version is left out.
void append_entity_text(std::string& out, const Entity& entity, std::string_view archive = {});
/// Parses such a text. `version` is the Timestamp, `operation` the text of the member. Sets `archive` to the archive
/// that is named, or to an empty text. kInvalidInput if append_entity_text did not write it.
Result<Entity> parse_entity_text(std::string_view json, std::string* archive = nullptr);

}  // namespace tidemark::table_store
