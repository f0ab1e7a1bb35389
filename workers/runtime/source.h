// Where a bulk job (bulk_job.h) reads its entities from, page by page: a table, or an archive outside of tables
// (workers/kinds/archive/object_side.h).
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "jobs/store/rows.h"
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

using table_store::Entity;

/// The keys of a page must fit into the note that goes into the message.
inline constexpr std::size_t kPageKeyBytes = 40'000;
/// Brackets, quotes and commas of a key in a note.
inline constexpr std::size_t kBesideNotedKey = 8;
/// The most that one transaction changes.
inline constexpr std::size_t kGroupEntities = 100;
inline constexpr std::size_t kGroupBytes = 3UL << 20;

struct Page {
  std::vector<Entity> entities;
  std::string continuation;          // empty: this was the last page
  std::vector<std::string> foreign;  // names of objects in the archive that no job has written
};

class Source {
 public:
  virtual ~Source() = default;
  /// Fails if the source does not exist: kTableNotFound.
  virtual Task<Result<void>> require() { co_return Result<void>{}; }
  /// Called before a job's first change. With maxAffected, it counts the selected entities; kMaxAffectedExceeded.
  /// Earlier deliveries have done `before`, up to `continuation`.
  virtual Task<Result<void>> begin(std::string continuation, std::uint64_t before);
  /// Reads the page at the continuation; its keys fit into a note.
  virtual Task<Result<Page>> read(std::string continuation) = 0;
  /// Returns the newest version here; nothing if it is no longer selected because another operation has written it.
  virtual Task<Result<std::optional<Entity>>> get(jobs::EntityKey key) = 0;
  /// The number of selected entities, once that is known.
  [[nodiscard]] virtual std::optional<std::uint64_t> total() const { return std::nullopt; }

 protected:
  explicit Source(JobContext& context) : context_(context) {}
  JobContext& context_;
};

struct Selected {
  std::string table;
  std::string filter;
  std::string operation;  // if given: only copies that this operation wrote
  /// The bytes that the job's note takes for an entity beside its key; a page has room for them.
  std::function<std::size_t(const Entity&)> noted_bytes = {};
  std::string account = {};  // empty: the account of the jobs
};

class TableSource final : public Source {
 public:
  TableSource(JobContext& context, Selected selected)
      : Source(context), selected_(std::move(selected)), tables_(context.jobs.tables_in(selected_.account)) {}
  ~TableSource() override { count_->stopped = true; }
  TableSource(const TableSource&) = delete;
  TableSource& operator=(const TableSource&) = delete;

  Task<Result<void>> require() override;
  /// Without maxAffected, begins to count the selected entities from `continuation` on, while the job works.
  Task<Result<void>> begin(std::string continuation, std::uint64_t before) override;
  Task<Result<Page>> read(std::string continuation) override;
  Task<Result<std::optional<Entity>>> get(jobs::EntityKey key) override;
  [[nodiscard]] std::optional<std::uint64_t> total() const override;

 private:
  /// The amount of work, as far as it is known. Shared with the counting, which may outlive the run by a call.
  struct Count {
    std::uint64_t found = 0;
    bool through = false;
    bool stopped = false;
  };
  static Task<void> count(std::shared_ptr<table_store::TableClient> tables, table_store::QueryRequest request,
                          std::shared_ptr<Count> into);
  Task<Result<void>> check_affected(std::uint64_t done);
  [[nodiscard]] table_store::QueryRequest request(std::string continuation) const;
  [[nodiscard]] std::unexpected<Error> missing_table() const;

  Selected selected_;
  std::shared_ptr<table_store::TableClient> tables_;
  std::shared_ptr<Count> count_ = std::make_shared<Count>();
  std::uint32_t page_size_ = 1000;
};

/// Splits entities into groups of consecutive entities of one partition that fit into one transaction.
std::vector<std::vector<Entity>> partition_groups(std::vector<Entity> entities);

}  // namespace tidemark::workers
