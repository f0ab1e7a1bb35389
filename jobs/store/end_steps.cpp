#include "jobs/store/end_steps.h"

#include <algorithm>

#include "common/base/json.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {

using nlohmann::json;
using nlohmann::ordered_json;

std::string end_steps_text(const EndSteps& end) {
  auto out = members_json(end.transaction);
  out["result"] = ordered_json::parse(end.result, nullptr, false);
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<EndSteps> parse_end_steps(std::string_view text) {
  const auto parsed = json_or_discarded(text);
  EndSteps out;
  SpecMembers in(parsed);
  if (parsed.is_object()) out.transaction.members(in);
  if (!parsed.is_object() || !in.problems().empty() || !parsed.contains("result")) {
    return fail(ErrorCode::kCorruption, "The steps in the record of the job do not have the expected form.");
  }
  out.result = parsed["result"].dump(-1, ' ', false, json::error_handler_t::replace);
  return out;
}

Result<JobSpec> work_left_of(const JobRecord& record) {
  auto spec = TRY(parse_stored_spec(record.spec));
  if (record.end_steps.empty()) return spec;
  spec.work = TRY(parse_end_steps(record.end_steps)).transaction;
  // The job's own limit is for its workers. One of Tidemark's that dies must not make a decided transaction poison.
  spec.max_attempts = std::max(spec.max_attempts, kDefaultMaxAttempts);
  return spec;
}

}  // namespace tidemark::jobs
