// The facts about its rows that an index gives the table store when it follows a table, so that queries can use them.
// Pure.
#pragma once
#include "indexes/store/index_store.h"
#include "table_store/model/entity_lists.h"

namespace tidemark::indexes {

/// The place where an index's progress is kept.
table_store::ListedPlace place_of_progress(const std::string& index_id);
/// Returns nothing if the index does not answer queries.
std::optional<table_store::EntityLists> lists_for_queries(const Index& index);
/// Describes the rows that the index keeps in the table of its entities; nothing if it keeps none there.
std::optional<table_store::OwnRows> rows_among_entities(const Definition& definition);

}  // namespace tidemark::indexes
