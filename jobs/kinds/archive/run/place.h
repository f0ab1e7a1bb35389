// One side of a move: where entities are read from and removed, or put. The mover (jobs/kinds/archive/run/mover.h)
// knows the order of effects; a place knows how its own side does them, each fenced by (job, epoch):
//   table_place     a table
//   document_place  one document per entity, in a container or a directory
//   part_place      immutable parts of many lines, likewise
// One run uses a place, from one strand. Errors are those of the stores.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "workers/runtime/pages.h"

namespace tidemark::workers {

using table_store::Entity;

/// What is put at once, and fails or succeeds at once where the place can do that.
struct Unit {
  std::vector<Entity> entities;
  std::string name;  // part_place: of the part
};

enum class PutEnd : std::uint8_t {
  kThere = 1,      // the place has this version: it may be removed from the source
  kReadAgain = 2,  // the place has a newer version, so the source has moved on
  kNewerCopy = 3,  // the place has a copy of a newer version, which stays
  kInTheWay = 4,   // the place has something that is no copy, which stays
};
struct PutOutcome {
  std::vector<PutEnd> ends;   // one for each entity of the unit
  std::uint64_t counted = 0;  // added to the job's count of what is done
};

enum class RemoveEnd : std::uint8_t { kRemoved = 1, kGone = 2, kChanged = 3 };
struct RemoveOutcome {
  std::vector<RemoveEnd> ends;
  std::uint64_t counted = 0;
};

/// Read back from a note: what an earlier delivery may have left half done.
struct Unfinished {
  std::vector<Unit> put;              // is in the destination, perhaps still in the source
  std::vector<jobs::EntityKey> keys;  // perhaps put: to be moved in whatever version is there
};

struct PlacePage {
  std::vector<Entity> entities;
  std::string continuation;          // empty: this was the last
  std::vector<std::string> foreign;  // what stands among the archived and is none
};

class Side {
 public:
  virtual ~Side() = default;

  /// True: the operation is closed here already, the job's work is done.
  virtual Task<Result<bool>> open() { co_return false; }
  /// Nothing is written here after this.
  virtual Task<Result<void>> close() { co_return Result<void>{}; }

  // As a source.
  virtual Task<Result<void>> require() { co_return Result<void>{}; }
  /// Before a job's first change: kMaxAffectedExceeded. `before` was done earlier.
  virtual Task<Result<void>> begin(std::string continuation, std::uint64_t before);
  /// Writes the progress to the record, with the total if it is known.
  virtual Task<Result<void>> report(JobProgress progress, bool force);
  virtual Task<Result<PlacePage>> read(std::string continuation) = 0;
  /// The newest version that is here. Side by side, unless the place removes pages: then of one entity's job only.
  virtual Task<Result<std::optional<Entity>>> get(jobs::EntityKey key) = 0;
  /// [begin, end) of what remove() takes at once.
  [[nodiscard]] virtual Cuts cuts(const std::vector<Entity>& entities) const = 0;
  /// Removes those whose version still is the one given.
  virtual Task<Result<RemoveOutcome>> remove(std::vector<Entity> entities) = 0;
  /// What is read from here is removed page by page, and does not change meanwhile: nothing needs to be noted.
  [[nodiscard]] virtual bool removes_pages() const { return false; }
  /// After what was read with read() has been moved as far as possible.
  virtual Task<Result<void>> finish_page() { co_return Result<void>{}; }
  /// Whether older versions of a key may be here beside newer ones.
  [[nodiscard]] virtual bool keeps_versions() const { return false; }

  // As a destination.
  virtual Task<Result<void>> prepare() { co_return Result<void>{}; }
  /// Whether a page like this may still grow.
  [[nodiscard]] virtual bool wants_more(const std::vector<Entity>&) const { return false; }
  virtual std::vector<Unit> units(std::vector<Entity> entities) = 0;
  /// What finishing needs to know if this delivery dies after some of the units were put.
  [[nodiscard]] virtual nlohmann::json note(const std::vector<Unit>& units) const = 0;
  virtual Task<Result<Unfinished>> unfinished(nlohmann::json note) = 0;
  /// Whether even a single entity needs its note.
  [[nodiscard]] virtual bool always_notes() const { return false; }
  virtual Task<Result<PutOutcome>> put(Unit unit) = 0;
  /// Entities of a unit that was put have changed in the source. True: they are not here any more. False: they stay
  /// until a newer version is put, which the mover does.
  virtual Task<Result<bool>> retract(std::string unit_name, std::vector<Entity> changed) {
    static_cast<void>(unit_name), static_cast<void>(changed);
    co_return false;
  }

 protected:
  explicit Side(JobContext& context) : context_(context) {}
  JobContext& context_;
};

/// A note of keys: [[pk,rk],...], and back; tolerant.
nlohmann::json keys_note(const std::vector<Unit>& units);
std::vector<jobs::EntityKey> keys_of_note(const nlohmann::json& note);
/// The groups of one partition each that fit into a transaction.
std::vector<Unit> partition_units(std::vector<Entity> entities);

/// What is selected on the side that is read.
struct PlaceSelection {
  std::string filter;
  std::string operation;  // if given: only copies that this operation wrote
};

}  // namespace tidemark::workers
