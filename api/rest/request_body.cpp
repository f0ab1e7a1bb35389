#include "api/rest/request_body.h"

#include "common/base/json.h"

namespace tidemark::api {

Task<Result<nlohmann::json>> read_json_object(http::Request& request) {
  const auto text = CO_TRY(co_await request.body->read_all(kMaxBodyBytes));
  auto body = text.empty() ? nlohmann::json::object() : CO_TRY(read_json(text));
  if (!body.is_object()) co_return fail(ErrorCode::kInvalidInput, "The body must be a JSON object.");
  co_return body;
}

Result<void> refuse_problems(jobs::SpecMembers& in) {
  in.refuse_unknown();
  if (in.problems().empty()) return {};
  return jobs::invalid(ErrorCode::kInvalidInput, "The request is not valid: ", in.problems());
}

}  // namespace tidemark::api
