// POST $batch: entity group transactions, and the single query that a batch may hold instead.
#pragma once
#include "table_store/rest/table_call.h"

namespace tidemark::table_store {

/// Answers 202 if the batch is well-formed and authorized, even if an operation failed.
Answer serve_batch(Call& call);

}  // namespace tidemark::table_store
