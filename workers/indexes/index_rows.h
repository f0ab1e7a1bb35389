// The rows of an index: what each kind does to make them what the entities say. State-based, so the order and the
// number of times do not matter. Everything is written under the owner's fence and with the index's mark (Origin), so
// it never touches what is not the index's. Used from one strand; lives as long as its owner.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "blob_store/client/blob_client.h"
#include "indexes/store/index_store.h"
#include "jobs/spec/selection.h"
#include "table_store/client/table_client.h"
#include "table_store/model/filter.h"
#include "workers/indexes/row_writer.h"

namespace tidemark::workers {

using table_store::ChangedEntity;
using table_store::Entity;

/// What is in the way of an index's rows: nobody else's row is replaced.
struct InTheWay {
  std::uint64_t count = 0;
  std::uint64_t entities = 0;         // of lists: whose keys are left out
  std::vector<std::string> examples;  // a few
  jobs::EntityKey one;                // the first
  void add(const std::string& table, const std::string& partition_key, const std::string& row_key);
  void add(InTheWay more);
};

/// An entity whose rows were not what they should be.
struct WrongEntity {
  std::string partition_key, row_key;
  std::optional<jobs::EntityKey> refers_to = {};  // if that is what it depended on
};
using Wrong = std::vector<WrongEntity>;

/// What a look at blobs has found.
struct BlobSweep {
  std::uint64_t checked = 0;
  Wrong wrong;
  std::string next;  // where to go on; empty at the end
};

/// Gives entities what those that they refer to say now.
class Referrers {
 public:
  struct Visit {
    jobs::EntityKey referred;
    std::string at;  // where it goes on; empty: at the beginning
    bool done = false;
  };
  Referrers() = default;
  Referrers(const Referrers&) = delete;
  Referrers& operator=(const Referrers&) = delete;
  virtual ~Referrers() = default;
  /// Goes on with some of these visits, up to a page of about `most` entities.
  virtual Task<Result<std::vector<Visit>>> go_on(std::vector<Visit> visits, std::size_t most) = 0;
};

/// What a walk has read: of each entity as much as its rows depend on.
class Gathering {
 public:
  Gathering() = default;
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;
  virtual ~Gathering() = default;
  /// Returns how many bytes of memory it takes up here, about.
  virtual std::size_t add(Entity entity) = 0;
  /// As IndexRows::reconcile() and compare() with what was added, once.
  virtual Task<Result<Wrong>> reconcile() = 0;
  virtual Task<Result<Wrong>> compare() = 0;
};

class IndexRows {
 public:
  virtual ~IndexRows() = default;
  IndexRows(const IndexRows&) = delete;
  IndexRows& operator=(const IndexRows&) = delete;

  /// Before anything else, and after any failure. What an earlier owner has sent has no effect from now on.
  virtual Task<Result<void>> begin() { co_return Result<void>{}; }
  /// After the last row was erased.
  virtual Task<Result<void>> end() { co_return Result<void>{}; }

  /// Gives each entity the rows that it should have now, and removes those that it had before.
  virtual Task<Result<Wrong>> reconcile(std::vector<ChangedEntity> changed) = 0;
  /// The same for a comparison: what mend() is for may stay as it is.
  virtual Task<Result<Wrong>> compare(std::vector<ChangedEntity> entities) { return reconcile(std::move(entities)); }
  /// For entities that came with no change. These rows outlive it.
  virtual std::unique_ptr<Gathering> gather();
  /// What was found wrong, and is not late.
  virtual Task<Result<void>> mend(Wrong) { co_return Result<void>{}; }
  /// Removes from these rows of the index what no entity says.
  virtual Task<Result<Wrong>> check(std::vector<Entity> rows) = 0;
  /// Whether the index has blobs beside its rows; then removes those that no row names.
  [[nodiscard]] virtual bool has_blobs() const { return false; }
  virtual Task<Result<BlobSweep>> check_blobs(std::string) { co_return BlobSweep{}; }
  /// Removes these rows of the index.
  virtual Task<Result<void>> erase(std::vector<Entity> rows) = 0;
  /// Where the rows are. A table may hold others beside them.
  [[nodiscard]] virtual std::string table() const = 0;
  /// Which rows of that table to look at; empty: all.
  [[nodiscard]] virtual std::string row_filter() const { return {}; }
  /// Not null of a kind whose entities refer to others.
  virtual Referrers* referrers() { return nullptr; }
  /// How many to give to check(), so that changes need not wait for long.
  [[nodiscard]] virtual std::uint32_t rows_at_once() const = 0;

  /// What was found in the way since it was last asked.
  InTheWay take_in_the_way() { return std::exchange(in_the_way_, {}); }
  /// Whether rows were removed since it was last asked: what they were in the way of may have its place now.
  bool take_made_room() { return std::exchange(made_room_, false); }
  /// Whether violations were noted that somebody is to be told of, since it was last asked.
  bool take_to_tell() { return std::exchange(to_tell_, false); }

 protected:
  IndexRows() = default;
  InTheWay in_the_way_;
  bool made_room_ = false;
  bool to_tell_ = false;
};

/// The fences of an owner's writes. Each write has a higher epoch than those before, so a request that was delayed or
/// came twice is refused once a later one has arrived. The upper half of the epoch is the owner's.
class Fences {
 public:
  Fences(std::string operation, std::uint64_t owner_epoch)
      : operation_(std::move(operation)), epoch_(owner_epoch << 32) {}
  table_store::Fence next() { return {operation_, ++epoch_, "", 0}; }

 private:
  std::string operation_;
  std::uint64_t epoch_;
};

struct IndexRowsContext {
  table_store::TableClient& tables;
  Clock& clock;
  const indexes::Index& index;
  Fences& fences;
  blob_store::BlobClient* blobs = nullptr;  // for lists in blobs; null if this process reaches no containers

  /// For one writing of rows.
  [[nodiscard]] RowWriting writing() const { return {tables, clock, fences.next(), index.definition.entities()}; }
};
/// kIndexInvalid if the definition cannot be carried out.
Result<std::unique_ptr<IndexRows>> make_index_rows(IndexRowsContext context);
/// Lists of one property, in the form that index jobs give them (indexes/rows/list_piece.h).
std::unique_ptr<IndexRows> make_job_rows(IndexRowsContext context);

}  // namespace tidemark::workers
