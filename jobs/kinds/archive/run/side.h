// One side of a move: where entities are read from and removed, or put. The mover (jobs/kinds/archive/run/mover.h)
// knows the order of effects; a side knows how to bring them about in its own store, each fenced by (job, epoch):
//   table_side     a table
//   document_side  one document per entity, in a container or a directory
//   part_side      immutable parts of many lines, likewise
// Used by one run, on one strand. Errors are those of the stores.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "workers/runtime/source.h"

namespace tidemark::workers {

/// What is put at once, and fails or succeeds at once where the side can do that.
struct Unit {
  std::vector<Entity> entities;
  std::string name;  // part_side: of the part
};

enum class PutEnd : std::uint8_t {
  kThere = 1,      // the side has this version: it may be removed from the source
  kReadAgain = 2,  // the side has a newer version, so the source has moved on
  kNewerCopy = 3,  // the side has a copy of a newer version, which stays
  kInTheWay = 4,   // the side has something that is no copy, which stays
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

class Side : public Source {
 public:
  /// True: the operation is closed here already, the job's work is done.
  virtual Task<Result<bool>> open() { co_return false; }
  /// Nothing is written here after this.
  virtual Task<Result<void>> close() { co_return Result<void>{}; }

  // As a source. get() may be called side by side, unless the side removes pages: then in a single entity's job only.

  /// Removes those whose version still is the one given. All are of one partition, unless the side removes pages.
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
  virtual std::vector<Unit> units(std::vector<Entity> entities);
  /// What finishing needs to know if this delivery dies after some of the units were put.
  [[nodiscard]] virtual nlohmann::json note(const std::vector<Unit>& units) const;
  virtual Task<Result<Unfinished>> unfinished(nlohmann::json note) = 0;
  /// Whether even a single entity needs its note.
  [[nodiscard]] virtual bool always_notes() const { return false; }
  virtual Task<Result<PutOutcome>> put(Unit unit) = 0;
  /// Entities of a unit that was put have changed in the source. True: they are not here any more. False: they stay
  /// until a newer version is put, which the mover does.
  virtual Task<Result<bool>> retract(std::string, std::vector<Entity>) { co_return false; }

 protected:
  using Source::Source;
};

/// What note() wrote unless the side has a form of its own: [[pk,rk],...]. Tolerant.
std::vector<jobs::EntityKey> keys_of_note(const nlohmann::json& note);

}  // namespace tidemark::workers
