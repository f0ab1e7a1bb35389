// The rows of an index: what each kind does to make them what the entities say. State-based, so the order and the
// number of times do not matter. Everything is written under the owner's fence and with the index's mark (Origin), so
// it never touches what is not the index's. Used from one strand; lives as long as its owner.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "indexes/store/index_store.h"
#include "table_store/client/table_client.h"
#include "table_store/model/filter.h"

namespace tidemark::workers {

using table_store::ChangedEntity;
using table_store::Entity;

/// What is in the way of an index's rows: nobody else's row is replaced.
struct InTheWay {
  std::uint64_t count = 0;
  std::vector<std::string> examples;  // a few
  void add(const std::string& table, const std::string& partition_key, const std::string& row_key);
};

class IndexRows {
 public:
  virtual ~IndexRows() = default;
  IndexRows(const IndexRows&) = delete;
  IndexRows& operator=(const IndexRows&) = delete;

  /// Gives each entity the rows that it should have now, and removes those that it had before. Returns how many were
  /// not so already. At most kMaxChangedEntities.
  virtual Task<Result<std::uint64_t>> reconcile(std::vector<ChangedEntity> changed) = 0;
  /// Removes from these rows of the index what no entity says. Returns how much that was.
  virtual Task<Result<std::uint64_t>> check(std::vector<Entity> rows) = 0;
  /// Removes these rows of the index.
  virtual Task<Result<void>> erase(std::vector<Entity> rows) = 0;
  /// Where the rows are. A table may hold others beside them.
  [[nodiscard]] virtual std::string table() const = 0;
  /// How many to give to check(), so that changes need not wait for long.
  [[nodiscard]] virtual std::uint32_t rows_at_once() const = 0;

  /// What was found in the way since it was last asked.
  InTheWay take_in_the_way() { return std::exchange(in_the_way_, {}); }

 protected:
  IndexRows() = default;
  InTheWay in_the_way_;
};

struct IndexRowsContext {
  table_store::TableClient& tables;
  const indexes::Index& index;
  table_store::Fence fence;
};
/// kIndexInvalid if the definition cannot be carried out.
Result<std::unique_ptr<IndexRows>> make_index_rows(IndexRowsContext context);

}  // namespace tidemark::workers
