// A place in the change feed of a table, as users keep it: opaque text of letters, digits, '-' and '_'. It names the
// table and the generation of its feed, so that the place in one feed is not taken for one in another. Base64 of
//   1 | generation varint | version i64 | index varint | check 8                                for a feed with one log
//   2 | generation varint | newest version i64 | logs varint | each: varint newest - version, index varint | check 8
// With 8 logs it has about 100 characters. Pure.
#pragma once
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "table_store/model/feed.h"

namespace tidemark::feeds {

/// Returns the token of a place. Table names match in any case.
std::string token_of(std::string_view table, const table_store::FeedPlace& place);
/// kInvalidInput if it is no token of this table's feed. Only the table store knows whether the place still exists.
Result<table_store::FeedPlace> parse_token(std::string_view table, std::string_view token);
/// Returns the id of a change in its feed. It does not depend on how the feed is read, unlike the place behind the
/// change if there are several logs.
std::string id_of(std::string_view table, const table_store::FeedPage& page, const table_store::Change& change);
/// Parses "oldest" (or "begin"), "now", or a token.
Result<table_store::FeedRequest> parse_start(std::string_view table, std::string_view text);

}  // namespace tidemark::feeds
