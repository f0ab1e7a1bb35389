// A table as the destination of a move from the same table: the entities get other keys. The mover (archive/mover.h)
// does the steps:
//   1. put the entity under its new key, unless that key is taken
//   2. remove the old one, if it is still the version that was read
// The entity under the new key is an original at once (restored), so later jobs treat it as one, and carries this job's
// mark until somebody writes it: only an entity with the mark is taken back. If the old entity has changed in between,
// the new one is taken back before the old one is looked at again, because it may now get another key, or may no longer
// be selected. The note of a page tells an earlier delivery's work:
//   [[old pk, old rk, new pk, new rk, version that was read, version that the put carried], ...]
// Its puts are taken back where the old entity is still the version that was read.
//
// The new key is looked up right before the put, which itself replaces no original. The put carries the version of the
// present: an entity that was archived under the new key long ago is older, so restoring it does not overwrite the
// moved one. No two puts of a job carry the same version, so each finds its own.
#pragma once
#include <map>
#include <set>

#include "jobs/kinds/reach.h"
#include "workers/kinds/archive/side.h"

namespace tidemark::workers {

class RekeySide final : public Side {
 public:
  RekeySide(JobContext& context, jobs::Reach reach)
      : Side(context), reach_(std::move(reach)), table_(reach_.to.table), entities_(context, {table_, "", ""}) {}

  // This side is never a source.
  Task<Result<Page>> read(std::string) override { co_return fail(ErrorCode::kInternalError); }
  Task<Result<std::optional<Entity>>> get(jobs::EntityKey key) override { return entities_.get(std::move(key)); }
  Task<Result<RemoveOutcome>> remove(std::vector<Entity>) override { co_return fail(ErrorCode::kInternalError); }

  std::vector<Refused> refuse(std::vector<Entity>& entities) override;
  std::vector<Unit> units(std::vector<Entity> entities) override;
  [[nodiscard]] nlohmann::json note(const std::vector<Unit>& units) const override;
  [[nodiscard]] bool always_notes() const override { return true; }
  Task<Result<Unfinished>> unfinished(nlohmann::json note) override;
  Task<Result<PutOutcome>> put(Unit unit) override;
  [[nodiscard]] bool renames() const override { return true; }
  Task<Result<void>> take_back(std::string unit_name, std::vector<jobs::EntityKey> keys) override;

 private:
  using Keys = std::pair<std::string, std::string>;
  struct Target {
    jobs::EntityKey key;
    table_store::Version carried = 0;
  };
  static Keys keys_of(const Entity& entity) { return {entity.partition_key, entity.row_key}; }
  [[nodiscard]] const Target& target_of(const Entity& entity) const { return targets_.at(keys_of(entity)); }
  /// Returns why the entity stays where it is; nothing if it can move. Then its target is known.
  std::optional<std::string_view> refusal(const Entity& entity, std::set<Keys>& taken);
  /// Returns the places in the unit of the entities whose new keys are free.
  Task<Result<std::vector<std::size_t>>> vacant(const Unit& unit);
  [[nodiscard]] table_store::Mutation mutation_of(const Entity& entity) const;
  table_store::Version next_carried(const Entity& entity);
  /// Returns the entity that the put left there, if nobody has written it since.
  Task<Result<std::optional<Entity>>> own(Target target);
  Task<Result<void>> take_back(Target target);

  jobs::Reach reach_;
  std::string table_;
  TableSource entities_;
  std::map<Keys, Target> targets_;  // of the page, by old key
  table_store::Version carried_ = 0;
};

}  // namespace tidemark::workers
