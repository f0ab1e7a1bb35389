// The search of a lookup through the pieces of lists. Private to this folder.
#pragma once
#include "indexes/lookup/search_parts.h"
#include "indexes/store/piece_contents.h"

namespace tidemark::indexes {

/// `contents`: reads the lists that are in blobs.
std::unique_ptr<Search> make_list_search(Source source, std::optional<PieceContents> contents, const Index& index,
                                         std::vector<GroupRange> ranges, std::optional<EntryPlace> resume,
                                         const LookupRequest& request);

}  // namespace tidemark::indexes
