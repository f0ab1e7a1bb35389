// The optional x-ms-tidemark-* headers that make the writes of users' own workers safe: "put if newer" by source
// version, and the fence of an operation by its id and epoch. docs/fences.md documents them. Pure. Errors:
// kInvalidHeaderValue, kMissingRequiredHeader.
#pragma once
#include <optional>
#include <string>

#include "common/http/http.h"
#include "table_store/model/mutation.h"
#include "table_store/rest/table_call.h"

namespace tidemark::table_store {

inline constexpr std::string_view kOperationIdHeader = "x-ms-tidemark-operation-id";
inline constexpr std::string_view kEpochHeader = "x-ms-tidemark-epoch";
/// The chain of rules of a job that a rule has made, as the job's claim has it (jobs/spec/cause.h).
inline constexpr std::string_view kCauseHeader = "x-ms-tidemark-cause";
inline constexpr std::string_view kSourceVersionHeader = "x-ms-tidemark-source-version";
inline constexpr std::string_view kVersionHeader = "x-ms-tidemark-version";
inline constexpr std::string_view kOutcomeHeader = "x-ms-tidemark-outcome";
/// The counter in an operation's ledger for each applied write.
inline constexpr std::string_view kAppliedCounter = "applied";

/// The options in the headers of one request, or of one part of a batch.
struct Fencing {
  std::optional<Fence> fence;
  std::optional<Version> source_version;
  /// If true, the answer has the outcome.
  [[nodiscard]] bool asked() const { return fence.has_value() || source_version.has_value(); }
};
Result<Fencing> read_fencing(const HeaderList& headers);

/// Puts the source version into a mutation. kInvalidHeaderValue if its kind cannot have one.
Result<void> apply_source_version(const Fencing& fencing, Mutation& mutation);

std::string_view outcome_name(WriteOutcome kind);
/// Returns the headers that report the outcome, as name and value.
std::vector<std::pair<std::string_view, std::string>> outcome_headers(const MutationOutcome& outcome);

/// Serves "$operation": GET reads the ledger that the headers name, POST opens it or raises its epoch, DELETE closes
/// it.
Answer serve_operation(Call& call);

}  // namespace tidemark::table_store
