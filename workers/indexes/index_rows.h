// The rows of an index. Each kind of index makes its rows agree with the present state of the entities, so neither the
// order of changes nor repetitions matter. All rows are written under the owner's fence and with the index's mark
// (Origin), so rows of others are never touched. Used from one strand; lives as long as its owner.
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

/// Rows of others that are in the way of an index's rows. They are not replaced.
struct InTheWay {
  std::uint64_t count = 0;
  std::uint64_t entities = 0;         // for lists: entities whose keys are left out
  std::vector<std::string> examples;  // a few keys, each once
  jobs::EntityKey one;                // the first
  void add(const std::string& table, const std::string& partition_key, const std::string& row_key);
  void add(InTheWay more);
  void add_example(std::string key);
};

/// An entity whose rows were wrong.
struct WrongEntity {
  std::string partition_key, row_key;
  std::optional<jobs::EntityKey> refers_to = {};  // for denormalised: the entity that it refers to
};
using Wrong = std::vector<WrongEntity>;

/// The result of a look at some blobs.
struct BlobSweep {
  std::uint64_t checked = 0;
  Wrong wrong;
  std::string next;  // the place to go on from; empty at the end
};

/// Gives entities the present values of the entities that they refer to.
class Referrers {
 public:
  struct Visit {
    jobs::EntityKey referred;
    std::string at;  // the place to go on from; empty: the beginning
    bool done = false;
  };
  Referrers() = default;
  Referrers(const Referrers&) = delete;
  Referrers& operator=(const Referrers&) = delete;
  virtual ~Referrers() = default;
  /// Goes on with some of these visits, up to a page of about `most` entities.
  virtual Task<Result<std::vector<Visit>>> go_on(std::vector<Visit> visits, std::size_t most) = 0;
};

/// The entities that a walk has read. Only the parts on which their rows depend are kept.
class Gathering {
 public:
  Gathering() = default;
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;
  virtual ~Gathering() = default;
  /// Returns about how many bytes of memory the entity occupies here.
  virtual std::size_t add(Entity entity) = 0;
  /// Like IndexRows::reconcile() and compare() for the added entities. Only one of these may be called, once.
  virtual Task<Result<Wrong>> reconcile() = 0;
  virtual Task<Result<Wrong>> compare() = 0;
};

class IndexRows {
 public:
  virtual ~IndexRows() = default;
  IndexRows(const IndexRows&) = delete;
  IndexRows& operator=(const IndexRows&) = delete;

  /// Called before anything else, and after any failure. From now on, requests of earlier owners have no effect.
  virtual Task<Result<void>> begin() { co_return Result<void>{}; }
  /// Called after the last row was erased.
  virtual Task<Result<void>> end() { co_return Result<void>{}; }

  /// Gives each entity the rows that it should have now, and removes the rows that it had before.
  virtual Task<Result<Wrong>> reconcile(std::vector<ChangedEntity> changed) = 0;
  /// Does the same for a comparison, but may leave the corrections to mend().
  virtual Task<Result<Wrong>> compare(std::vector<ChangedEntity> entities) { return reconcile(std::move(entities)); }
  /// Gathers entities that came without a change. The gathering must not outlive these rows.
  virtual std::unique_ptr<Gathering> gather();
  /// Corrects entities that a comparison found wrong, and that are not merely late.
  virtual Task<Result<void>> mend(Wrong) { co_return Result<void>{}; }
  /// Removes from these rows of the index everything that no entity justifies.
  virtual Task<Result<Wrong>> check(std::vector<Entity> rows) = 0;
  /// Tells whether the index has blobs beside its rows. If so, check_blobs() removes those that no row names.
  [[nodiscard]] virtual bool has_blobs() const { return false; }
  virtual Task<Result<BlobSweep>> check_blobs(std::string) { co_return BlobSweep{}; }
  /// Tells whether the index notes violations of groups. If so, check_notes() takes a page of these notes, and removes
  /// those of groups that are right again. It returns the place to go on from, which is empty at the end.
  [[nodiscard]] virtual bool has_notes() const { return false; }
  virtual Task<Result<std::string>> check_notes(std::string) { co_return std::string(); }
  /// Removes these rows of the index.
  virtual Task<Result<void>> erase(std::vector<Entity> rows) = 0;
  /// Returns the table of the rows, which may hold other rows beside them.
  [[nodiscard]] virtual std::string table() const = 0;
  /// Returns the filter for the rows of that table to look at; empty: all.
  [[nodiscard]] virtual std::string row_filter() const { return {}; }
  /// Not null for a kind whose entities refer to others.
  virtual Referrers* referrers() { return nullptr; }
  /// Returns how many rows to give to check() at once, so that changes need not wait for long.
  [[nodiscard]] virtual std::uint32_t rows_at_once() const = 0;

  /// Returns the rows that were found in the way since the last call.
  InTheWay take_in_the_way() { return std::exchange(in_the_way_, {}); }
  /// Tells whether rows were removed since the last call. There may be room now for rows that they were in the way of.
  bool take_made_room() { return std::exchange(made_room_, false); }
  /// Tells whether violations that must be told to the endpoint were noted since the last call.
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

  /// Returns the parameters of one write, with a fence of its own.
  [[nodiscard]] RowWriting writing() const { return {tables, clock, fences.next(), index.definition.entities()}; }
};
/// kIndexInvalid if the definition cannot be carried out.
Result<std::unique_ptr<IndexRows>> make_index_rows(IndexRowsContext context);
/// Makes lists of one property in the form of index jobs (indexes/rows/list_piece.h).
std::unique_ptr<IndexRows> make_job_rows(IndexRowsContext context);

}  // namespace tidemark::workers
