// Keeps the indexes: each has an owner in one of the workers (workers/runtime/keeper.h, index_owner.h).
#pragma once
#include "workers/indexes/index_owner.h"
#include "workers/runtime/keeper.h"

namespace tidemark::workers {

struct IndexKind {
  using Thing = indexes::Index;
  using Owner = IndexOwner;
  using Services = IndexServices;
  static constexpr const char* kTask = "worker.indexes";
};
using IndexKeeper = Keeper<IndexKind>;

}  // namespace tidemark::workers
