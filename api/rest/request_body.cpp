#include "api/rest/request_body.h"

#include "common/base/json.h"

namespace tidemark::api {

Result<nlohmann::json> json_object_in(std::string_view text) {
  auto body = text.empty() ? nlohmann::json::object() : TRY(read_json(text));
  if (!body.is_object()) return fail(ErrorCode::kInvalidInput, "The body must be a JSON object.");
  return body;
}

Result<void> refuse_problems(jobs::SpecMembers& in) {
  in.refuse_unknown();
  if (in.problems().empty()) return {};
  return jobs::invalid(ErrorCode::kInvalidInput, "The request is not valid: ", in.problems());
}

}  // namespace tidemark::api
