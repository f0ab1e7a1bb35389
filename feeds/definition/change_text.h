// A change of a table's feed as JSON: {"kind","partitionKey"?,"rowKey"?,"version","token","cause"?,"old"?,
// "new"?}. Entities have
// the form in which the table endpoint writes them. Pure.
#pragma once
#include <string>
#include <string_view>

#include "table_store/model/feed.h"

namespace tidemark::feeds {

/// `token`: the token of the place after the change.
void append_change(std::string& out, const table_store::Change& change, std::string_view token);

}  // namespace tidemark::feeds
