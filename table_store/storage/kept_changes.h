// What a table's change feed keeps of the log (model/feed.h), and what it lets go. Private to storage/.
#pragma once
#include "table_store/storage/change_records.h"

namespace tidemark::table_store {

/// Lets go of the oldest transactions, as many as make the rest fit into the feed's size, or this shard's share of it.
/// `bytes`: of the whole log; `last`: its last version. False if there were none.
Result<bool> let_go_of_bytes(const kv::Reader& reader, FeedRecord& feed, std::uint64_t bytes, Version last);
/// Lets go of all up to this version. False if there was nothing.
Result<bool> let_go_through(const kv::Reader& reader, std::uint64_t feed, KeptRecord& kept, Version version);

/// How far behind the end of the log the place is.
Result<PlaceStatus> status_of_place(const kv::Reader& reader, const FeedRecord& feed, const HeadRecord& head,
                                    LogPlace place);

}  // namespace tidemark::table_store
