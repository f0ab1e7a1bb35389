// One side of a move: the place that entities are read and removed from, or put into. The mover
// (workers/kinds/archive/mover.h) knows the order of the effects; a side knows how to do them in its own store, each
// fenced by (job, epoch):
//   table_side     a table
//   document_side  one document per entity, in a container or a directory
//   part_side      immutable parts of many lines, in a container or a directory
//   rekey_side     the table that the entities come from, under other keys (workers/kinds/rekey_side.h)
// Used by one run, on one strand. Errors are those of the stores.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "workers/runtime/source.h"

namespace tidemark::workers {

/// Entities that are put together and, as far as the side can do that, succeed or fail together.
struct Unit {
  std::vector<Entity> entities;
  std::string name = {};           // part_side: the name of the part
  std::string partition_key = {};  // rekey_side: the partition of the new keys
};

/// The reason why an entity is not put at all. Without a reason it is passed over.
struct Refused {
  jobs::EntityKey key;
  std::string_view reason;
};

enum class PutEnd : std::uint8_t {
  kThere = 1,      // the side has this version, so it may be removed from the source
  kReadAgain = 2,  // the side has a newer version, so the source has moved on
  kNewerCopy = 3,  // the side has a copy in a newer version, which stays
  kInTheWay = 4,   // the side has something that is not a copy, which stays
  kAnothers = 5,   // the side has this version, written by another job that has not ended
};
struct PutOutcome {
  std::vector<PutEnd> ends;   // one for each entity of the unit
  std::uint64_t counted = 0;  // added to the job's done count
};

enum class RemoveEnd : std::uint8_t { kRemoved = 1, kGone = 2, kChanged = 3 };
struct RemoveOutcome {
  std::vector<RemoveEnd> ends;
  std::uint64_t counted = 0;
};

/// An entity that was put and could not be removed from the source, because it was gone or had changed.
struct Gone {
  jobs::EntityKey key;
  bool changed = false;
};

/// Read from a note: the work that an earlier delivery may have left unfinished.
struct Unfinished {
  std::vector<Unit> put;              // in the destination, and perhaps still in the source
  std::vector<jobs::EntityKey> keys;  // perhaps put; move them in their present version
  std::vector<Gone> gone;             // put, and no longer in the source in that version
};

class Side : public Source {
 public:
  /// True if the operation is already closed here, because the job's work is done.
  virtual Task<Result<bool>> open() { co_return false; }
  /// Nothing is written here after this.
  virtual Task<Result<void>> close() { co_return Result<void>{}; }

  // Used as a source. get() may be called side by side, unless the side removes pages: then in a single entity's job
  // only.

  /// Fails if there is nothing that could be read: kContainerNotFound, kResourceNotFound, kJobInvalid.
  virtual Task<Result<void>> require_any() { return require(); }
  /// Called before entities of a page are put. Removes the older versions that the side has of them: once the newest is
  /// back, nothing may bring an older one back.
  virtual Task<Result<void>> before_put(std::vector<Entity>) { co_return Result<void>{}; }
  /// Removes the entities that still have the given version. All are of one partition, unless the side removes pages.
  virtual Task<Result<RemoveOutcome>> remove(std::vector<Entity> entities) = 0;
  /// True if entities are removed page by page and do not change meanwhile, so that no note is needed.
  [[nodiscard]] virtual bool removes_pages() const { return false; }
  /// Called when the page of the last read() has been moved as far as possible.
  virtual Task<Result<void>> finish_page() { co_return Result<void>{}; }
  /// True if there may be older versions of a key beside newer ones.
  [[nodiscard]] virtual bool keeps_versions() const { return false; }

  // Used as a destination.

  virtual Task<Result<void>> prepare() { co_return Result<void>{}; }
  /// True if a page like this may still grow.
  [[nodiscard]] virtual bool wants_more(const std::vector<Entity>&) const { return false; }
  /// Takes the entities that cannot be put out of a page.
  virtual std::vector<Refused> refuse(std::vector<Entity>&) { return {}; }
  virtual std::vector<Unit> units(std::vector<Entity> entities);
  /// Returns the version that an entity has once it is here.
  [[nodiscard]] virtual table_store::Version put_version(const Entity& entity) const { return entity.version; }
  /// Returns the state that the next delivery needs if this one dies after some of the units were put.
  [[nodiscard]] virtual nlohmann::json note(const std::vector<Unit>& units) const;
  virtual Task<Result<Unfinished>> unfinished(nlohmann::json note) = 0;
  /// True if even a single entity needs a note.
  [[nodiscard]] virtual bool always_notes() const { return false; }
  virtual Task<Result<PutOutcome>> put(Unit unit) = 0;
  /// True if a put does not use the key of its source, where something else may be by now. Then a changed source entity
  /// is not put again: the put is taken back, unless this job has removed its source.
  [[nodiscard]] virtual bool renames() const { return false; }
  /// Called if entities of a unit that was put have changed in the source. True if they are no longer here. False if
  /// they stay until a newer version is put, which the mover does.
  virtual Task<Result<bool>> retract(std::string, std::vector<Entity>) { co_return false; }
  /// Removes the entities that this job has put under these keys, and nothing else.
  virtual Task<Result<void>> take_back(std::string unit_name, std::vector<jobs::EntityKey> keys) = 0;

 protected:
  using Source::Source;
  /// Returns the end of a put that found its version here already, written by `operation`. Two jobs that share a copy
  /// cannot tell which of them may take it back, so only the job that wrote it removes the entity from the source,
  /// unless that job is over. `there`: the tables that the copy is in; null for objects.
  Task<Result<PutEnd>> end_of_shared(std::string operation, const table_store::TableClient* there = nullptr);
};

/// An entity that was about to be put. A copy in an older version belongs to an earlier round: its source was removed
/// then, and the entity was created anew since.
struct NotedEntity {
  jobs::EntityKey key;
  table_store::Version version = 0;
};
/// The bytes that a note takes for an entity, beside its key and the brackets.
inline constexpr std::size_t kNotedVersionBytes = 20;

/// Reads the result of note(), unless the side has a form of its own: [[pk,rk,version],...]. Tolerant; a note of an
/// earlier program has no versions.
std::vector<NotedEntity> entities_of_note(const nlohmann::json& note);

}  // namespace tidemark::workers
