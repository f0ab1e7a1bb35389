// A page of a walk over the entities of an index's source. Used from one strand.
#pragma once
#include "workers/indexes/index_rows.h"

namespace tidemark::workers {

struct SourcePage {
  std::vector<ChangedEntity> entities;  // as they are; they came with no change
  std::string continuation;             // empty at the end
};

/// From the request's continuation on. In a hurry, as many as fit into memory well: the more entities there are, the
/// more of them share a piece of a list. kTableNotFound.
Task<Result<SourcePage>> read_source_page(table_store::TableClient& tables, table_store::QueryRequest request,
                                          bool in_a_hurry);

}  // namespace tidemark::workers
