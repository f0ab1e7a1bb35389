#include "jobs/work/claim_notes.h"

#include <nlohmann/json.hpp>

#include "common/base/encoding.h"
#include "common/base/json.h"
#include "jobs/store/job_record.h"
#include "jobs/store/rows.h"

namespace tidemark::jobs {

using nlohmann::json;

std::string claim_row(std::string_view worker, std::string_view request_id) {
  return hex_encode(sha256(std::string(worker).append("\n").append(request_id)));
}

Task<Result<void>> ClaimNotes::put(std::vector<ClaimNote> notes) {
  std::vector<table_store::Mutation> mutations;
  for (const auto& note : notes) {
    auto list = json::array();
    for (const auto& [id, epoch] : note.jobs) list.push_back({id, epoch});
    auto& mutation = mutations.emplace_back();
    mutation.kind = table_store::MutationKind::kInsertOrReplace;
    mutation.row_key = note.row;
    mutation.properties = {{"Jobs", list.dump()}};
  }
  CO_TRY(co_await tables_.mutate(std::string(kJobTable), std::string(kClaimPartition), std::move(mutations),
                                 std::nullopt));
  co_return Result<void>{};
}

Task<Result<std::optional<ClaimNote>>> ClaimNotes::find(std::string row) {
  auto found = co_await tables_.get(std::string(kJobTable), std::string(kClaimPartition), row);
  if (found.failed_with(ErrorCode::kTableNotFound)) co_return std::nullopt;
  const auto entity = CO_TRY(std::move(found));
  if (!entity) co_return std::nullopt;
  ClaimNote note{std::move(row), {}};
  const auto list = json_or_discarded(property_or<std::string>(*entity, "Jobs"));
  for (const auto& each : list.is_array() ? list : json::array()) {
    const bool good = each.is_array() && each.size() == 2 && each[0].is_string() && each[1].is_number_unsigned();
    if (good) note.jobs.emplace_back(each[0].get<std::string>(), each[1].get<std::uint64_t>());
  }
  co_return note;
}

}  // namespace tidemark::jobs
