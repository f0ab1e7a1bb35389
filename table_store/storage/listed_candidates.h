// Finds the entities that a query has to look at, by the lists of followers of its table (model/entity_lists.h). The
// answer is the same as that of a walk over the table: the lists have the processed changes, and the log has the
// others. Private to storage/.
#pragma once
#include "table_store/storage/query_plan.h"
#include "table_store/storage/table_service.h"
#include "table_store/storage/table_views.h"

namespace tidemark::table_store {

struct ListedCandidates {
  std::string index;
  std::vector<std::string> keys;  // in the encoding of encode_entity_key(), in order, without repeats
};

/// Returns nothing if no lists have them, or if it is better to walk over the table. Call it before anything else is
/// read through the views.
Task<Result<std::optional<ListedCandidates>>> find_candidates(const TableShards& shards, const TableViews& views,
                                                              std::string_view account, const Query& query);

}  // namespace tidemark::table_store
