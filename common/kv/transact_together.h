// Independent transactions of several engines, such as those of a store's shards.
#pragma once
#include <vector>

#include "common/kv/engine.h"

namespace tidemark::kv {

struct Submission {
  Engine* engine = nullptr;
  TransactionBody body;
};

/// Submits all and resumes once, with all their outcomes. Those of one engine take effect in their order.
Task<std::vector<Result<void>>> transact_together(std::vector<Submission> all, const FailStep* step = nullptr);

}  // namespace tidemark::kv
