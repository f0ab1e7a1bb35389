// A table as one side of a move: puts are put-if-newer in entity group transactions, removals name the version. As the
// destination of a restoring move it counts what it puts if the other side cannot count in the same transaction.
#pragma once
#include "jobs/kinds/archive/run/place.h"

namespace tidemark::workers {

struct TableSide {
  std::string table;
  bool back = false;         // the move restores: copies carry the archived version
  bool counts_puts = false;  // else removals are counted
  bool make_when_missing = false;
};

class TablePlace final : public Side {
 public:
  TablePlace(JobContext& context, TableSide side, PlaceSelection selection)
      : Side(context),
        side_(std::move(side)),
        selection_(std::move(selection)),
        pages_(context, {side_.table, selection_.filter, selection_.operation}) {}

  Task<Result<void>> require() override { return require_table(context_, side_.table, "source"); }
  Task<Result<void>> prepare() override { return ensure_table(context_, side_.table); }
  Task<Result<void>> begin(std::string continuation, std::uint64_t before) override {
    return pages_.begin(std::move(continuation), before);
  }
  Task<Result<void>> report(JobProgress progress, bool force) override {
    return pages_.report(std::move(progress), force);
  }
  Task<Result<PlacePage>> read(std::string continuation) override;
  Task<Result<std::optional<Entity>>> get(jobs::EntityKey key) override;
  [[nodiscard]] Cuts cuts(const std::vector<Entity>& entities) const override { return partition_groups(entities); }
  Task<Result<RemoveOutcome>> remove(std::vector<Entity> entities) override;
  std::vector<Unit> units(std::vector<Entity> entities) override { return partition_units(std::move(entities)); }
  [[nodiscard]] nlohmann::json note(const std::vector<Unit>& units) const override { return keys_note(units); }
  Task<Result<Unfinished>> unfinished(nlohmann::json note) override;
  Task<Result<PutOutcome>> put(Unit unit) override;

 private:
  Task<Result<std::vector<table_store::MutationOutcome>>> put_copies(std::string partition_key,
                                                                     std::vector<table_store::Mutation> copies);
  Task<Result<void>> look_for_copy(jobs::EntityKey key, char& copied);
  Task<Result<PutEnd>> why_superseded(jobs::EntityKey key, table_store::MutationOutcome outcome);
  TableSide side_;
  PlaceSelection selection_;
  Pages pages_;
};

}  // namespace tidemark::workers
