#include "workers/indexes/source_walk.h"

#include "jobs/plan/plan.h"

namespace tidemark::workers {
namespace {

constexpr std::size_t kBytesInAStretch = 8UL << 20;

}  // namespace

Task<Result<SourcePage>> read_source_page(table_store::TableClient& tables, table_store::QueryRequest request,
                                          std::size_t wanted) {
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
  } while (!request.continuation.empty() && out.entities.size() < wanted && bytes < kBytesInAStretch);
  out.continuation = std::move(request.continuation);
  co_return out;
}

}  // namespace tidemark::workers
