// What an index tells the table store of its rows when it follows a table, so that queries can go by them. Pure.
#pragma once
#include "indexes/store/index_store.h"
#include "table_store/model/entity_lists.h"

namespace tidemark::indexes {

/// Where an index's progress is kept.
table_store::ListedPlace place_of_progress(const std::string& index_id);
/// Nothing if it does not answer queries.
std::optional<table_store::EntityLists> lists_for_queries(const Index& index);
/// What its rows may say that are in the table of its entities; nothing if none are.
std::optional<table_store::OwnRows> rows_among_entities(const Definition& definition);

}  // namespace tidemark::indexes
