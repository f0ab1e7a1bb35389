// The token of a place that is named by a word.
#pragma once
#include <string>

#include "table_store/client/table_client.h"

namespace tidemark::feeds {

/// The token that "oldest" or "now" stands for at present, or the token itself, if it is one of the table's feed.
Task<Result<std::string>> token_for(table_store::TableClient& tables, std::string table, std::string after);

}  // namespace tidemark::feeds
