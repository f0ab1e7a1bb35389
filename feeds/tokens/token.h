// A place in the change feed of a table, as users keep it: opaque text of letters, digits, '-' and '_'. It names the
// table and the generation of its feed, so that the place of one feed is not taken for that of another. Base64 of
//   1 | generation varint | version i64 | index varint | check 8                                of a feed with one log
//   2 | generation varint | newest version i64 | logs varint | each: varint newest - version, index varint | check 8
// With 8 logs it has about 100 characters. Pure.
#pragma once
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "table_store/model/feed.h"

namespace tidemark::feeds {

/// Tables match in any case.
std::string token_of(std::string_view table, const table_store::FeedPlace& place);
/// kInvalidInput if it is no token of this table's feed. Whether the feed still has the place, the table store knows.
Result<table_store::FeedPlace> parse_token(std::string_view table, std::string_view token);
/// Of a change in its feed: the same however the feed is read, as a place behind it is not if there are several logs.
std::string id_of(std::string_view table, const table_store::FeedPage& page, const table_store::Change& change);
/// "oldest" (or "begin"), "now", or a token.
Result<table_store::FeedRequest> parse_start(std::string_view table, std::string_view text);

}  // namespace tidemark::feeds
