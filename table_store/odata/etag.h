// Converts between ETag and Version; no other code knows how one is derived from the other. Errors: kInvalidInput.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "table_store/model/entity.h"

namespace tidemark::table_store {

/// A version that no entity has, for a weak tag that we never issued.
inline constexpr Version kNoSuchVersion = -1;

Time time_of(Version version);

/// Returns W/"datetime'2026-11-21T12%3A09%3A13.1864608Z'"
std::string etag_of(Version version);
/// Appends the ETag as a JSON string. `time`: of the version, in ISO 8601.
void append_etag_as_json(std::string& out, std::string_view time);

/// Returns nothing for '*', and kNoSuchVersion for a weak tag that is not exactly one of ours.
Result<std::optional<Version>> parse_if_match(std::string_view header);

}  // namespace tidemark::table_store
