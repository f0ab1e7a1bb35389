// An entity as one line of JSON that stands by itself, as archives keep it: what the table endpoint answers with
// minimal metadata, so the same parser reads it, with the version in Timestamp (100 ns) and the ETag. Every property
// keeps its EDM type: those that JSON does not imply are annotated (@odata.type). Reads back exactly. Pure; any thread.
#pragma once
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "table_store/model/entity.h"

namespace tidemark::table_store {

/// Member that names the operation which wrote the text; no property can have this name.
inline constexpr std::string_view kOperationMember = "tidemark.job";

/// One JSON object without a line break. The source version is not kept.
void append_entity_text(std::string& out, const Entity& entity);
/// kInvalidInput: this is not what append_entity_text writes. `version` is Timestamp, `operation` the member's text.
Result<Entity> parse_entity_text(std::string_view json);

}  // namespace tidemark::table_store
