#include "workers/indexes/change_reader.h"

#include <algorithm>
#include <unordered_map>

#include "jobs/plan/plan.h"

namespace tidemark::workers {
namespace {

using table_store::ChangedEntity;
using table_store::ChangesPage;

constexpr std::size_t kBytesInABatch = 16UL << 20;
constexpr std::uint64_t kChangesInABatch = 100'000;

std::size_t bytes_of(const ChangedEntity& entity) {
  std::size_t bytes = entity.now ? jobs::entity_bytes(*entity.now) : 0;
  for (const auto& state : entity.before) bytes += table_store::properties_bytes(state);
  return bytes;
}

/// Consecutive pages joined into one. An entity that is in several pages stands at the place of its last change, with
/// all of its earlier states, and in the state that the last page gives.
class JoinedPages {
 public:
  void add(ChangesPage page) {
    for (auto& entity : page.entities) add(std::move(entity));
    page.entities.clear();
    page.changes += last_.changes;
    page.bytes += last_.bytes;
    last_ = std::move(page);
  }
  [[nodiscard]] const ChangesPage& last() const { return last_; }
  [[nodiscard]] bool full(std::size_t most) const {
    return places_.size() >= most || bytes_ >= kBytesInABatch || last_.changes >= kChangesInABatch;
  }
  ChangesPage finish() {
    for (auto& entity : entities_) {
      if (entity) last_.entities.push_back(std::move(*entity));
    }
    return std::move(last_);
  }

 private:
  void add(ChangedEntity entity) {
    const auto [place, is_new] = places_.try_emplace({entity.partition_key, entity.row_key}, entities_.size());
    if (!is_new) {
      auto& earlier = entities_[place->second];
      bytes_ -= bytes_of(*earlier);
      std::ranges::move(entity.before, std::back_inserter(earlier->before));
      entity.before = std::move(earlier->before);
      entity.appeared = entity.appeared || earlier->appeared;
      earlier.reset();
      place->second = entities_.size();
    }
    bytes_ += bytes_of(entity);
    entities_.push_back(std::move(entity));
  }

  ChangesPage last_;  // without its entities, with the counts of all pages
  std::vector<std::optional<ChangedEntity>> entities_;
  std::unordered_map<jobs::EntityKey, std::size_t, jobs::EntityKeyHash> places_;
  std::size_t bytes_ = 0;
};

}  // namespace

Task<Result<table_store::FollowerStatus>> follow_log(table_store::TableClient& tables, std::string table,
                                                     table_store::Following following, bool anew,
                                                     table_store::Fence fence) {
  const auto status = CO_TRY(co_await tables.follow(table, following, false, std::nullopt, fence));
  if (!anew) co_return status;
  co_return co_await tables.follow(std::move(table), std::move(following), true, status.position, std::move(fence));
}

Task<Result<ChangesPage>> read_changes(table_store::TableClient& tables, ChangesRequest request) {
  const auto limit =
      static_cast<std::uint32_t>(std::clamp<std::size_t>(request.most, 1, table_store::kMaxChangedEntities));
  const auto read = [&] {
    return tables.changed_entities(request.table, request.follower, request.after, request.skip, limit, request.wait,
                                   request.selection);
  };
  auto page = CO_TRY(co_await read());
  if (!page.more || page.dropped) co_return page;
  JoinedPages pages;
  pages.add(std::move(page));
  while (pages.last().more && !pages.last().dropped && !pages.full(request.most)) {
    request.after = pages.last().through;
    request.skip = pages.last().skip;
    request.wait = Duration::zero();
    auto next = CO_TRY(co_await read());
    if (next.stale) co_return next;
    pages.add(std::move(next));
  }
  co_return pages.finish();
}

void ChangeReader::read_on(const Executor& strand, table_store::Position after, table_store::NotesRead skip,
                           std::uint32_t limit, Duration wait, std::shared_ptr<Signal> read) {
  if (reads_ || page_) return;
  reads_ = true;
  spawn(strand, ChangeReader::read(shared_from_this(), std::move(after), skip, limit, wait, std::move(read)));
}

Task<void> ChangeReader::read(std::shared_ptr<ChangeReader> self, table_store::Position after,
                              table_store::NotesRead skip, std::uint32_t limit, Duration wait,
                              std::shared_ptr<Signal> read) {
  self->page_ = co_await self->tables_.changed_entities(self->table_, self->follower_, after, skip, limit, wait,
                                                        self->selection_);
  self->reads_ = false;
  read->notify_all();
}

}  // namespace tidemark::workers
