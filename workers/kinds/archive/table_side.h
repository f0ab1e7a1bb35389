// A table as one side of a move: puts are put-if-newer in entity group transactions, and removals name the version. As
// the destination of a restoring move it counts its puts if the other side cannot count in the same transaction.
#pragma once
#include "workers/kinds/archive/side.h"

namespace tidemark::workers {

struct TableRole {
  bool back = false;         // the move restores: copies carry the archived version
  bool counts_puts = false;  // else removals are counted
  bool make_when_missing = false;
};

class TableSide final : public Side {
 public:
  TableSide(JobContext& context, Selected selected, TableRole role)
      : Side(context),
        table_(selected.table),
        role_(role),
        tables_(context.jobs.tables_in(selected.account)),
        entities_(context, std::move(selected)) {}

  Task<Result<bool>> open() override;
  Task<Result<void>> close() override;

  Task<Result<void>> require() override { return entities_.require(); }
  Task<Result<void>> begin(std::string continuation, std::uint64_t before) override {
    return entities_.begin(std::move(continuation), before);
  }
  Task<Result<Page>> read(std::string continuation) override { return entities_.read(std::move(continuation)); }
  Task<Result<std::optional<Entity>>> get(jobs::EntityKey key) override { return entities_.get(std::move(key)); }
  [[nodiscard]] std::optional<std::uint64_t> total() const override { return entities_.total(); }
  Task<Result<RemoveOutcome>> remove(std::vector<Entity> entities) override;

  Task<Result<void>> prepare() override { return jobs::ensure_table(*tables_, table_); }
  std::vector<Refused> refuse(std::vector<Entity>& entities) override;
  [[nodiscard]] table_store::Version put_version(const Entity& entity) const override;
  Task<Result<Unfinished>> unfinished(nlohmann::json note) override;
  Task<Result<PutOutcome>> put(Unit unit) override;
  Task<Result<void>> take_back(std::string unit_name, std::vector<jobs::EntityKey> keys) override;

 private:
  Task<Result<std::vector<table_store::MutationOutcome>>> put_copies(std::string partition_key,
                                                                     std::vector<table_store::Mutation> copies);
  Task<Result<PutEnd>> end_of(table_store::MutationOutcome outcome, jobs::EntityKey key, table_store::Version version);

  std::string table_;
  TableRole role_;
  std::shared_ptr<table_store::TableClient> tables_;
  TableSource entities_;
};

}  // namespace tidemark::workers
