// The pages of entities that a bulk job works through: what is selected, how much of it there is, checked against
// maxAffected, cut into groups that fit one transaction.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workers/runtime/job_context.h"

namespace tidemark::workers {

inline constexpr std::uint32_t kPageEntities = 1000;
/// The keys of a page must fit into the note that goes into the message.
inline constexpr std::size_t kPageKeyBytes = 40'000;
inline constexpr std::size_t kGroupEntities = 100;
inline constexpr std::size_t kGroupBytes = 3UL << 20;

struct Selected {
  std::string table;
  std::string filter;
  std::string operation;  // if given: only copies that this operation wrote
};

class Pages {
 public:
  Pages(JobContext& context, Selected selected) : context_(context), selected_(std::move(selected)) {}
  ~Pages() { count_->stopped = true; }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  /// The page at the continuation; its keys fit into a note.
  Task<Result<table_store::QueryPage>> read(std::string continuation);
  /// Before a job's first change: with maxAffected, counts what is selected, kMaxAffectedExceeded. Without, begins to
  /// count what is selected from `continuation` on, beside the work and ahead of it; `before` was done earlier.
  Task<Result<void>> begin(std::string continuation, std::uint64_t before);
  /// Writes the progress to the record (JobContext::report), with the total once that is known.
  Task<Result<void>> report(JobProgress progress, bool force);

 private:
  /// What is known of how much there is to do. Shared with the counting, which may outlive the job's run by a call.
  struct Count {
    std::uint64_t found = 0;
    bool through = false;
    bool stopped = false;
  };
  static Task<void> count(table_store::TableClient& tables, table_store::QueryRequest request,
                          std::shared_ptr<Count> into);
  Task<Result<void>> check_affected(std::uint64_t done);
  [[nodiscard]] table_store::QueryRequest counting(std::string continuation) const;

  JobContext& context_;
  Selected selected_;
  std::shared_ptr<Count> count_ = std::make_shared<Count>();
  std::uint32_t page_size_ = kPageEntities;
};

Error too_many_selected(std::uint64_t limit);
/// [begin, end) of consecutive entities of one partition that fit into one transaction each.
using Cuts = std::vector<std::pair<std::size_t, std::size_t>>;
Cuts partition_groups(const std::vector<table_store::Entity>& entities);
std::vector<std::vector<table_store::Entity>> cut_up(std::vector<table_store::Entity> entities, const Cuts& cuts);
/// kTableNotFound.
Task<Result<void>> require_table(JobContext& context, std::string table, std::string role);
/// Creates it if it is missing.
Task<Result<void>> ensure_table(JobContext& context, std::string table);

}  // namespace tidemark::workers
