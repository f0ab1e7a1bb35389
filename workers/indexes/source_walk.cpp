#include "workers/indexes/source_walk.h"

#include "jobs/plan/plan.h"

namespace tidemark::workers {
namespace {

/// How much of a walk in a hurry is held in memory.
constexpr std::size_t kHurriedEntities = 20'000;
constexpr std::size_t kHurriedBytes = 16UL << 20;

}  // namespace

Task<Result<SourcePage>> read_source_page(table_store::TableClient& tables, table_store::QueryRequest request,
                                          bool in_a_hurry) {
  SourcePage out;
  std::size_t bytes = 0;
  do {
    auto page = CO_TRY(co_await tables.query(request));
    for (auto& entity : page.entities) {
      bytes += jobs::entity_bytes(entity);
      auto& changed = out.entities.emplace_back(ChangedEntity{entity.partition_key, entity.row_key, {}, {}});
      changed.now = std::move(entity);
    }
    request.continuation = std::move(page.continuation);
  } while (in_a_hurry && !request.continuation.empty() && out.entities.size() < kHurriedEntities &&
           bytes < kHurriedBytes);
  out.continuation = std::move(request.continuation);
  co_return out;
}

}  // namespace tidemark::workers
