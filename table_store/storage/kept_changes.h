// Decides which part of the log a table's change feed keeps (model/feed.h). Private to storage/.
#pragma once
#include "table_store/storage/change_records.h"

namespace tidemark::table_store {

/// Drops the oldest transactions from the feed, as many as needed for the rest to fit into its size, or this shard's
/// share of it. `bytes`: of the whole log; `last`: its last version. Returns false if there were none.
Result<bool> let_go_of_bytes(const kv::Reader& reader, FeedRecord& feed, std::uint64_t bytes, Version last);
/// Drops all changes up to this version from the feed. Returns false if there were none.
Result<bool> let_go_through(const kv::Reader& reader, std::uint64_t feed, KeptRecord& kept, Version version);

/// Returns how far behind the end of the log the place is.
Result<PlaceStatus> status_of_place(const kv::Reader& reader, const FeedRecord& feed, const HeadRecord& head,
                                    LogPlace place);

}  // namespace tidemark::table_store
