// Which entities a query has to look at, by the lists of who follows its table (model/entity_lists.h). The answer is
// what a walk over the table would find: the lists have what was dealt with, and the log has what was not.
// Private to storage/.
#pragma once
#include "table_store/storage/query_plan.h"
#include "table_store/storage/table_service.h"
#include "table_store/storage/table_views.h"

namespace tidemark::table_store {

struct ListedCandidates {
  std::string index;
  std::vector<std::string> keys;  // as encode_entity_key() has them, in order, without repeats
};

/// Nothing if no lists have them, or if it is better to walk over the table. Call it before anything else is read of
/// the views.
Task<Result<std::optional<ListedCandidates>>> find_candidates(const TableShards& shards, const TableViews& views,
                                                              std::string_view account, const Query& query);

}  // namespace tidemark::table_store
