// Rows of the kind `copies`: a second copy of each entity under other keys.
#include <unordered_set>

#include "indexes/store/read_entities.h"
#include "jobs/spec/key_template.h"
#include "jobs/store/rows.h"
#include "workers/indexes/index_kinds.h"
#include "workers/indexes/row_writer.h"

namespace tidemark::workers {
namespace {

using jobs::EntityKey;
using table_store::Mutation;
using table_store::Origin;
using table_store::WriteOutcome;
using Places = std::unordered_set<EntityKey, jobs::EntityKeyHash>;

class CopyRows final : public IndexRows {
 public:
  CopyRows(IndexRowsContext context, SourceFilter filter, jobs::KeyTemplates templates)
      : context_(context),
        kind_(std::get<indexes::CopiesKind>(context_.index.definition.kind)),
        filter_(std::move(filter)),
        templates_(std::move(templates)) {}

  Task<Result<Wrong>> reconcile(std::vector<ChangedEntity> changed) override;
  Task<Result<Wrong>> check(std::vector<Entity> rows) override;
  Task<Result<void>> erase(std::vector<Entity> rows) override;
  [[nodiscard]] std::string table() const override { return kind_.destination; }
  [[nodiscard]] std::uint32_t rows_at_once() const override { return 500; }

 private:
  [[nodiscard]] std::optional<EntityKey> place_of(const Entity& entity) const;
  [[nodiscard]] Origin origin_of(std::string partition_key, std::string row_key) const {
    return {context_.index.id, std::move(partition_key), std::move(row_key)};
  }
  [[nodiscard]] RowChange copy_of(const EntityKey& place, Entity entity) const;
  [[nodiscard]] static RowChange erasure_of(const EntityKey& place, Origin origin,
                                            std::optional<table_store::Version> seen = {});
  /// Returns the entities whose rows were written. A change whose row is occupied goes to `refused`, unless that is
  /// null.
  Task<Result<Wrong>> write(std::vector<RowChange> changes, std::vector<RowChange>* refused);
  Task<Result<Wrong>> write_late(std::vector<RowChange> late);

  IndexRowsContext context_;
  indexes::CopiesKind kind_;
  SourceFilter filter_;
  jobs::KeyTemplates templates_;
};

std::optional<EntityKey> CopyRows::place_of(const Entity& entity) const {
  if (!filter_.admits(entity)) return std::nullopt;
  return apply_key_templates(templates_, entity);
}

RowChange CopyRows::copy_of(const EntityKey& place, Entity entity) const {
  auto origin = origin_of(std::move(entity.partition_key), std::move(entity.row_key));
  auto properties = std::move(entity.properties);
  if (kind_.properties) {
    std::erase_if(properties, [&](const auto& property) {
      return std::ranges::find(*kind_.properties, property.name) == kind_.properties->end();
    });
  }
  RowChange change{place.partition_key, jobs::copy_of(place.row_key, entity.version, std::move(properties))};
  change.mutation.origin = std::move(origin);
  return change;
}

RowChange CopyRows::erasure_of(const EntityKey& place, Origin origin, std::optional<table_store::Version> seen) {
  RowChange change{place.partition_key, jobs::erasure_of(place.row_key, seen)};
  change.mutation.origin = std::move(origin);
  return change;
}

Task<Result<Wrong>> CopyRows::reconcile(std::vector<ChangedEntity> changed) {
  std::vector<RowChange> puts, late, erasures;
  Places taken;
  for (auto& entity : changed) {
    std::optional<EntityKey> now;
    if (entity.now) now = place_of(*entity.now);
    const auto origin = origin_of(entity.partition_key, entity.row_key);
    Places left;
    for (const auto& before : states_before(entity)) {
      const auto place = place_of(before);
      if (place && place != now && left.insert(*place).second) erasures.push_back(erasure_of(*place, origin));
    }
    if (!now) continue;
    const bool first = taken.insert(*now).second;
    (first ? puts : late).push_back(copy_of(*now, std::move(*entity.now)));
  }
  // The new row is written first, then the old one is erased. An old row may be in the way of another entity's new one.
  auto written = CO_TRY(co_await write(std::move(puts), &late));
  auto erased = CO_TRY(co_await write(std::move(erasures), nullptr));
  made_room_ = made_room_ || !erased.empty();
  add(std::move(erased), written);
  add(CO_TRY(co_await write_late(std::move(late))), written);
  co_return written;
}

Task<Result<Wrong>> CopyRows::write(std::vector<RowChange> changes, std::vector<RowChange>* refused) {
  Wrong written;
  if (changes.empty()) co_return written;
  // A transaction may name a row only once.
  Places named;
  std::vector<RowChange> once, again;
  for (auto& change : changes) {
    const bool first = named.insert({change.partition_key, change.mutation.row_key}).second;
    (first ? once : again).push_back(std::move(change));
  }
  const auto outcomes = CO_TRY(co_await write_rows(context_.writing(), kind_.destination, once));
  for (std::size_t i = 0; i < once.size(); ++i) {
    const auto& origin = *once[i].mutation.origin;
    if (outcomes[i].kind == WriteOutcome::kApplied) written.push_back({origin.partition_key, origin.row_key});
    if (outcomes[i].kind == WriteOutcome::kConflict && refused != nullptr) refused->push_back(std::move(once[i]));
  }
  add(CO_TRY(co_await write(std::move(again), refused)), written);
  co_return written;
}

Task<Result<Wrong>> CopyRows::write_late(std::vector<RowChange> late) {
  std::vector<RowChange> refused;
  auto written = CO_TRY(co_await write(std::move(late), &refused));
  for (const auto& change : refused) in_the_way_.add(kind_.destination, change.partition_key, change.mutation.row_key);
  co_return written;
}

Task<Result<Wrong>> CopyRows::check(std::vector<Entity> rows) {
  std::vector<EntityKey> keys;
  for (const auto& row : rows) {
    keys.push_back(row.origin ? EntityKey{row.origin->partition_key, row.origin->row_key} : EntityKey{});
  }
  const auto& definition = context_.index.definition;
  const auto sources = CO_TRY(co_await indexes::read_entities(context_.tables, definition.source, std::move(keys),
                                                              definition.key_properties()));
  std::vector<RowChange> erasures;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const EntityKey place{rows[i].partition_key, rows[i].row_key};
    if (!rows[i].origin || (sources[i] && place_of(*sources[i]) == place)) continue;
    erasures.push_back(erasure_of(place, *rows[i].origin, rows[i].version));
  }
  co_return co_await write(std::move(erasures), nullptr);
}

Task<Result<void>> CopyRows::erase(std::vector<Entity> rows) {
  std::vector<RowChange> erasures;
  for (const auto& row : rows) {
    if (row.origin) erasures.push_back(erasure_of({row.partition_key, row.row_key}, *row.origin));
  }
  CO_TRY(co_await write(std::move(erasures), nullptr));
  co_return Result<void>{};
}

}  // namespace

Result<std::unique_ptr<IndexRows>> make_copy_rows(IndexRowsContext context, SourceFilter filter) {
  const auto& kind = std::get<indexes::CopiesKind>(context.index.definition.kind);
  auto templates = TRY(jobs::parse_key_templates(kind.partition_key, kind.row_key));
  return std::make_unique<CopyRows>(context, std::move(filter), std::move(templates));
}

}  // namespace tidemark::workers
