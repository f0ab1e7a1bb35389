// A page of a walk over the entities of an index's source. Used from one strand.
#pragma once
#include "workers/indexes/index_rows.h"

namespace tidemark::workers {

struct SourcePage {
  std::vector<ChangedEntity> entities;  // as they are; they came with no change
  std::string continuation;             // empty at the end
};

/// How many entities a walk in a hurry takes at once. The more there are, the more of them share a piece of a list.
inline constexpr std::size_t kHurriedEntities = 20'000;

/// From the request's continuation on: a page, and further ones as long as there are fewer than `wanted` entities and
/// they fit into memory well. kTableNotFound.
Task<Result<SourcePage>> read_source_page(table_store::TableClient& tables, table_store::QueryRequest request,
                                          std::size_t wanted);

}  // namespace tidemark::workers
