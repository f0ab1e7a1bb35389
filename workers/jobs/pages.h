// The pages of entities that a bulk job works through: what is selected, counted against maxAffected, paced to
// maxPerSecond, cut into groups that fit one transaction.
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

  /// The page at the continuation; its keys fit into a note.
  Task<Result<table_store::QueryPage>> read(std::string continuation);
  /// Whether more is selected than maxAffected allows: counts before anything is changed. kMaxAffectedExceeded.
  Task<Result<void>> check_affected();

 private:
  JobContext& context_;
  Selected selected_;
  std::uint32_t page_size_ = kPageEntities;
};

Error too_many_selected(std::uint64_t limit);
/// [begin, end) of consecutive entities of one partition that fit into one transaction each.
std::vector<std::pair<std::size_t, std::size_t>> partition_groups(const std::vector<table_store::Entity>& entities);
/// kTableNotFound.
Task<Result<void>> require_table(JobContext& context, std::string table, std::string role);
/// Creates it if it is missing.
Task<Result<void>> ensure_table(JobContext& context, std::string table);

}  // namespace tidemark::workers
