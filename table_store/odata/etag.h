// ETag <-> Version, the only place that knows how one is made from the other. No state; errors: kInvalidInput.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "table_store/model/entity.h"

namespace tidemark::table_store {

/// A version that no entity has: what a well-formed tag that we never issued stands for.
inline constexpr Version kNoSuchVersion = -1;

Time time_of(Version version);

/// W/"datetime'2026-11-21T12%3A09%3A13.1864608Z'"
std::string etag_of(Version version);

/// Nothing for '*'. A tag that is well-formed but not byte for byte one of ours gives kNoSuchVersion.
Result<std::optional<Version>> parse_if_match(std::string_view header);

}  // namespace tidemark::table_store
