// The jobs that were given to a request for work, so that the same request, repeated because its answer was lost, gets
// the same jobs. Rows of the jobs' table:
//   'claims' / SHA-256 of worker and request id     Jobs String: [[JOB, EPOCH], ...]
// A note is written before its jobs are claimed, so it may name some that are not; workers' upkeep removes it after an
// hour.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/async.h"
#include "table_store/client/table_client.h"

namespace tidemark::jobs {

inline constexpr std::string_view kClaimPartition = "claims";

struct ClaimNote {
  std::string row;
  std::vector<std::pair<std::string, std::uint64_t>> jobs;  // ids and epochs
};

/// Returns the row of a request's note.
std::string claim_row(std::string_view worker, std::string_view request_id);

class ClaimNotes {
 public:
  explicit ClaimNotes(table_store::TableClient& tables) : tables_(tables) {}
  /// Writes 1..100 notes in one transaction.
  Task<Result<void>> put(std::vector<ClaimNote> notes);
  Task<Result<std::optional<ClaimNote>>> find(std::string row);

 private:
  table_store::TableClient& tables_;
};

}  // namespace tidemark::jobs
