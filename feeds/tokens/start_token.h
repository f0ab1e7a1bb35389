// The token of a place that a word names.
#pragma once
#include <string>

#include "table_store/client/table_client.h"

namespace tidemark::feeds {

/// Returns the token that "oldest" or "now" means at present, or the text itself if it is a token of the table's feed.
Task<Result<std::string>> token_for(table_store::TableClient& tables, std::string table, std::string after);

}  // namespace tidemark::feeds
