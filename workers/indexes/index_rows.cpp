#include "workers/indexes/index_rows.h"

#include <algorithm>

#include "workers/indexes/index_kinds.h"
#include "workers/indexes/source_walk.h"

namespace tidemark::workers {

namespace {

constexpr std::size_t kExamplesInTheWay = 5;

}  // namespace

void InTheWay::add(InTheWay more) {
  if (count == 0) one = std::move(more.one);
  count += more.count;
  entities += more.entities;
  for (auto& example : more.examples) add_example(std::move(example));
}

void InTheWay::add(const std::string& table, const std::string& partition_key, const std::string& row_key) {
  if (++count == 1) one = {partition_key, row_key};
  add_example(table + "/" + partition_key + "/" + row_key);
}

void InTheWay::add_example(std::string key) {
  if (examples.size() == kExamplesInTheWay || std::ranges::find(examples, key) != examples.end()) return;
  examples.push_back(std::move(key));
}

std::vector<Entity> states_before(const ChangedEntity& changed) {
  std::vector<Entity> states;
  for (const auto& properties : changed.before) {
    auto& state = states.emplace_back();
    state.partition_key = changed.partition_key;
    state.row_key = changed.row_key;
    state.properties = properties;
  }
  return states;
}

namespace {

class WholeEntities final : public Gathering {
 public:
  explicit WholeEntities(IndexRows& rows) : rows_(rows) {}
  std::size_t add(Entity entity) override {
    const auto bytes = bytes_in_memory(entity);
    auto& changed = entities_.emplace_back(ChangedEntity{entity.partition_key, entity.row_key, {}, {}});
    changed.now = std::move(entity);
    return bytes;
  }
  Task<Result<Wrong>> reconcile() override { return rows_.reconcile(std::move(entities_)); }
  Task<Result<Wrong>> compare() override { return rows_.compare(std::move(entities_)); }

 private:
  IndexRows& rows_;
  std::vector<ChangedEntity> entities_;
};

}  // namespace

std::unique_ptr<Gathering> IndexRows::gather() { return std::make_unique<WholeEntities>(*this); }

Result<std::unique_ptr<IndexRows>> make_index_rows(IndexRowsContext context) {
  SourceFilter filter(TRY(table_store::Filter::parse(context.index.definition.filter)));
  if (std::holds_alternative<indexes::CopiesKind>(context.index.definition.kind)) {
    return make_copy_rows(context, std::move(filter));
  }
  if (std::holds_alternative<indexes::DenormalisedKind>(context.index.definition.kind)) {
    return make_denormal_rows(context, std::move(filter));
  }
  return make_list_rows(context, std::move(filter));
}

}  // namespace tidemark::workers
