// The kind `denormalised`: values of an entity, kept in the entities that refer to it. Lists
// (indexes/store/index_store.h) hold which entities refer to which, in pieces like those of the kind `lists`, so that
// the referring entities are found page by page, however many there are. The values are written into entities of the
// user, each under the condition that the entity has not changed since it was read. If somebody else was faster, that
// change is in the log and brings the entity back. Nothing is written where the values are right already, so the
// index's own writes, which come back through the log, end there.
#include <map>
#include <set>

#include "indexes/rows/list_piece.h"
#include "indexes/store/read_entities.h"
#include "jobs/spec/key_template.h"
#include "jobs/store/rows.h"
#include "table_store/model/group_text.h"
#include "table_store/model/limits.h"
#include "workers/indexes/index_kinds.h"
#include "workers/indexes/row_writer.h"

namespace tidemark::workers {
namespace {

using indexes::DenormalisedKind;
using jobs::EntityKey;
using table_store::MutationKind;
using table_store::Property;
using table_store::Value;
using table_store::WriteOutcome;

constexpr std::size_t kEntitiesAtOnce = 500;

std::optional<Value> value_in(const Entity& entity, const std::string& name) {
  if (name == "PartitionKey") return entity.partition_key;
  if (name == "RowKey") return entity.row_key;
  const auto* value = entity.find(name);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::string group_of(const EntityKey& referred) {
  return table_store::join_values(
      {table_store::key_text(referred.partition_key), table_store::key_text(referred.row_key)});
}

using Key = std::pair<std::string, std::string>;
Key key_of(const EntityKey& key) { return {key.partition_key, key.row_key}; }

class DenormalRows final : public IndexRows, public Referrers {
 public:
  DenormalRows(IndexRowsContext context, SourceFilter filter, jobs::KeyTemplates templates)
      : context_(context),
        kind_(std::get<DenormalisedKind>(context_.index.definition.kind)),
        filter_(std::move(filter)),
        templates_(std::move(templates)),
        roots_only_(context_.index.definition.referred().empty() && kind_.same_names()),
        references_(make_listing(context, listing())) {}

  Task<Result<Wrong>> reconcile(std::vector<ChangedEntity> changed) override;
  Task<Result<Wrong>> compare(std::vector<ChangedEntity> entities) override;
  Task<Result<void>> mend(Wrong wrong) override;
  Task<Result<Wrong>> check(std::vector<Entity> rows) override { return references_->check(std::move(rows)); }
  Task<Result<void>> erase(std::vector<Entity> rows) override { return references_->erase(std::move(rows)); }
  [[nodiscard]] std::string table() const override { return references_->table(); }
  [[nodiscard]] std::string row_filter() const override {
    const auto own = indexes::references_of(context_.index.id);
    return "PartitionKey ge '" + own + " ' and PartitionKey lt '" + own + "!'";
  }
  [[nodiscard]] std::uint32_t rows_at_once() const override { return references_->rows_at_once(); }
  Referrers* referrers() override { return this; }
  Task<Result<std::vector<Visit>>> go_on(std::vector<Visit> visits, std::size_t most) override;

 private:
  struct Change {
    RowChange row;
    EntityKey refers_to;
  };
  [[nodiscard]] Listing listing();
  [[nodiscard]] std::optional<EntityKey> reference_of(const Entity& entity) const;
  /// Returns the entities whose values are wrong, with the changes that correct them.
  Task<Result<std::vector<Change>>> find_wrong(std::vector<Entity> entities);
  [[nodiscard]] std::optional<RowChange> change_of(const Entity& entity, bool refers, const Entity* referred);
  Task<Result<Wrong>> write(std::vector<Change> changes);
  Task<Result<Wrong>> settle(std::vector<Entity> entities);
  Task<Result<void>> settle_keys(std::vector<EntityKey> keys);

  IndexRowsContext context_;
  DenormalisedKind kind_;
  SourceFilter filter_;
  jobs::KeyTemplates templates_;
  bool roots_only_;  // DenormalisedKind::same_names()
  std::unique_ptr<IndexRows> references_;
};

Listing DenormalRows::listing() {
  Listing out;
  out.table = std::string(indexes::kIndexTable);
  out.group_of = [this](const Entity& entity) -> std::optional<std::string> {
    const auto referred = reference_of(entity);
    if (!referred) return std::nullopt;
    return group_of(*referred);
  };
  out.place_of = [this](const std::string& group, const std::string&) {
    return indexes::references_to(context_.index.id, group);
  };
  return out;
}

std::optional<EntityKey> DenormalRows::reference_of(const Entity& entity) const {
  if (!filter_.admits(entity)) return std::nullopt;
  auto key = apply_key_templates(templates_, entity);
  const bool itself = roots_only_ && key == EntityKey{entity.partition_key, entity.row_key};
  return itself ? std::nullopt : std::move(key);
}

std::vector<Entity> entities_now(std::vector<ChangedEntity> changed) {
  std::vector<Entity> out;
  for (auto& each : changed) {
    if (each.now) out.push_back(std::move(*each.now));
  }
  return out;
}

// The list comes first: a later change of the referred entity finds this entity by the list.
Task<Result<Wrong>> DenormalRows::reconcile(std::vector<ChangedEntity> changed) {
  auto wrong = CO_TRY(co_await references_->reconcile(changed));
  add(CO_TRY(co_await settle(entities_now(std::move(changed)))), wrong);
  co_return wrong;
}

Task<Result<Wrong>> DenormalRows::compare(std::vector<ChangedEntity> entities) {
  auto wrong = CO_TRY(co_await references_->reconcile(entities));
  for (auto& change : CO_TRY(co_await find_wrong(entities_now(std::move(entities))))) {
    wrong.push_back({change.row.partition_key, change.row.mutation.row_key, std::move(change.refers_to)});
  }
  co_return wrong;
}

Task<Result<void>> DenormalRows::mend(Wrong wrong) {
  std::vector<EntityKey> keys;
  for (auto& entity : wrong) keys.push_back({std::move(entity.partition_key), std::move(entity.row_key)});
  return settle_keys(std::move(keys));
}

Task<Result<std::vector<DenormalRows::Change>>> DenormalRows::find_wrong(std::vector<Entity> entities) {
  // Rows of other indexes do not belong to the user.
  std::erase_if(entities, [&](const Entity& entity) {
    return entity.origin || !filter_.admits(entity) || (roots_only_ && !reference_of(entity));
  });
  std::vector<Change> changes;
  for (std::size_t first = 0; first < entities.size(); first += kEntitiesAtOnce) {
    const auto last = std::min(first + kEntitiesAtOnce, entities.size());
    std::map<Key, std::size_t> places;
    std::vector<EntityKey> keys;
    for (auto i = first; i < last; ++i) {
      const auto reference = reference_of(entities[i]);
      if (reference && places.try_emplace(key_of(*reference), keys.size()).second) keys.push_back(*reference);
    }
    const auto referred =
        CO_TRY(co_await indexes::read_entities(context_.tables, context_.index.definition.source, std::move(keys)));
    for (auto i = first; i < last; ++i) {
      auto reference = reference_of(entities[i]);
      const Entity* found = nullptr;
      if (reference && referred[places.at(key_of(*reference))]) found = &*referred[places.at(key_of(*reference))];
      if (found != nullptr && roots_only_ && reference_of(*found)) found = nullptr;
      auto row = change_of(entities[i], reference.has_value(), found);
      if (row) changes.push_back({std::move(*row), reference.value_or(EntityKey{})});
    }
  }
  co_return changes;
}

/// Returns nothing if the values are right, or if the entity has no room for them.
std::optional<RowChange> DenormalRows::change_of(const Entity& entity, bool refers, const Entity* referred) {
  auto properties = entity.properties;
  std::vector<Property> set;
  bool removes = false;
  for (const auto& [name, from] : kind_.properties) {
    std::optional<Value> wanted;
    if (referred != nullptr) wanted = value_in(*referred, from);
    if (refers && referred == nullptr && kind_.missing == DenormalisedKind::Missing::kEmpty) wanted = std::string();
    const auto at = std::ranges::find(properties, name, &Property::name);
    const bool there = at != properties.end();
    if (there ? wanted && same_value(*wanted, at->value) : !wanted) continue;
    if (there && !wanted) {
      removes = true;
      properties.erase(at);
      continue;
    }
    set.push_back({name, *wanted});
    if (there) at->value = *wanted;
    if (!there) properties.push_back(set.back());
  }
  if (set.empty() && !removes) return std::nullopt;
  if (!table_store::check_entity_size(entity.partition_key, entity.row_key, properties)) {
    in_the_way_.add(kind_.destination, entity.partition_key, entity.row_key);
    return std::nullopt;
  }
  // A merge cannot remove a property. Replacing the entity has the same effect, as it is still the version that was
  // read.
  RowChange change{entity.partition_key, {}};
  change.mutation = jobs::write_of(entity.row_key, entity.version, removes ? std::move(properties) : std::move(set));
  change.mutation.kind = removes ? MutationKind::kReplace : MutationKind::kMerge;
  change.mutation.lenient = true;
  return change;
}

Task<Result<Wrong>> DenormalRows::write(std::vector<Change> changes) {
  Wrong written;
  if (changes.empty()) co_return written;
  std::vector<RowChange> rows;
  for (auto& change : changes) {
    written.push_back({change.row.partition_key, change.row.mutation.row_key, std::move(change.refers_to)});
    rows.push_back(std::move(change.row));
  }
  const auto outcomes = CO_TRY(co_await write_rows(context_.writing(), kind_.destination, rows));
  Wrong applied;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (outcomes[i].kind == WriteOutcome::kApplied) applied.push_back(std::move(written[i]));
  }
  co_return applied;
}

Task<Result<Wrong>> DenormalRows::settle(std::vector<Entity> entities) {
  auto changes = CO_TRY(co_await find_wrong(std::move(entities)));
  co_return co_await write(std::move(changes));
}

Task<Result<void>> DenormalRows::settle_keys(std::vector<EntityKey> keys) {
  for (std::size_t first = 0; first < keys.size(); first += kEntitiesAtOnce) {
    const auto last = keys.begin() + static_cast<std::ptrdiff_t>(std::min(first + kEntitiesAtOnce, keys.size()));
    std::vector<EntityKey> some(keys.begin() + static_cast<std::ptrdiff_t>(first), last);
    std::vector<Entity> entities;
    for (auto& entity : CO_TRY(co_await indexes::read_entities(context_.tables, kind_.destination, std::move(some)))) {
      if (entity) entities.push_back(std::move(*entity));
    }
    CO_TRY(co_await settle(std::move(entities)));
  }
  co_return Result<void>{};
}

Task<Result<std::vector<Referrers::Visit>>> DenormalRows::go_on(std::vector<Visit> visits, std::size_t most) {
  std::vector<table_store::RowSearch> searches;
  for (const auto& visit : visits) {
    const auto place = indexes::references_to(context_.index.id, group_of(visit.referred));
    searches.push_back({place.partition_key, visit.at.empty() ? place.row_prefix : visit.at, place.end()});
  }
  auto answer = co_await context_.tables.find_rows(table(), std::move(searches), {});
  if (answer.failed_with(ErrorCode::kTableNotFound)) {
    for (auto& visit : visits) visit.done = true;  // no entity has ever referred to another one
    co_return visits;
  }
  const auto found = CO_TRY(std::move(answer));
  std::set<Key> seen;
  std::vector<EntityKey> keys;
  for (std::size_t i = 0; i < found.rows.size() && keys.size() < most; ++i) {
    const auto& row = found.rows[i];
    visits[i].done = !row || row->row_key.ends_with(indexes::kLastBound);
    if (!row) continue;
    visits[i].at = row->row_key + jobs::kJustBehind;
    const auto piece = indexes::read_piece(*row);
    if (!piece) continue;
    for (const auto& entry : piece->entries) {
      if (seen.emplace(entry.partition_key, entry.row_key).second) keys.push_back({entry.partition_key, entry.row_key});
    }
  }
  CO_TRY(co_await settle_keys(std::move(keys)));
  co_return visits;
}

}  // namespace

Result<std::unique_ptr<IndexRows>> make_denormal_rows(IndexRowsContext context, SourceFilter filter) {
  const auto& kind = std::get<DenormalisedKind>(context.index.definition.kind);
  auto templates = TRY(jobs::parse_key_templates(kind.partition_key, kind.row_key));
  return std::make_unique<DenormalRows>(context, std::move(filter), std::move(templates));
}

}  // namespace tidemark::workers
