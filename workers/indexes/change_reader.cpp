#include "workers/indexes/change_reader.h"

namespace tidemark::workers {

void ChangeReader::read_on(const Executor& strand, table_store::Version after, std::uint32_t skip, std::uint32_t limit,
                           Duration wait, std::shared_ptr<Signal> read) {
  if (reads_ || page_) return;
  reads_ = true;
  spawn(strand, ChangeReader::read(shared_from_this(), after, skip, limit, wait, std::move(read)));
}

Task<void> ChangeReader::read(std::shared_ptr<ChangeReader> self, table_store::Version after, std::uint32_t skip,
                              std::uint32_t limit, Duration wait, std::shared_ptr<Signal> read) {
  self->page_ = co_await self->tables_.changed_entities(self->table_, self->follower_, after, skip, limit, wait, {});
  self->reads_ = false;
  read->notify_all();
}

}  // namespace tidemark::workers
