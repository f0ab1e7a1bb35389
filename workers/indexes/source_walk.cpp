#include "workers/indexes/source_walk.h"

#include "jobs/plan/plan.h"

namespace tidemark::workers {

Task<Result<std::string>> read_source(table_store::TableClient& tables, table_store::QueryRequest request,
                                      ReadingEnd end, std::function<std::size_t(Entity)> keep) {
  std::size_t entities = 0;
  std::size_t bytes = 0;
  do {
    auto page = CO_TRY(co_await tables.query(request));
    entities += page.entities.size();
    for (auto& entity : page.entities) bytes += keep(std::move(entity));
    request.continuation = std::move(page.continuation);
  } while (!request.continuation.empty() && entities < end.entities && bytes < end.bytes);
  co_return std::move(request.continuation);
}

std::size_t bytes_in_memory(const Entity& entity) {
  constexpr std::size_t kBeside = sizeof(ChangedEntity) + 2 * sizeof(std::string);
  return kBeside + entity.properties.size() * sizeof(table_store::Property) + jobs::entity_bytes(entity);
}

}  // namespace tidemark::workers
