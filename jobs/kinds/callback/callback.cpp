#include "jobs/kinds/callback/callback.h"

#include <algorithm>

#include "jobs/kinds/reach.h"
#include "jobs/plan/plan.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::int64_t kMaxTimeoutMs = 120'000;
constexpr About kAboutBody{.meaning = "what to send",
                           .detail = "a string is sent as text, anything else as JSON",
                           .option = "callback: what to send; as JSON if it is JSON"};
constexpr std::string_view kMethods[] = {"POST", "PUT", "PATCH", "DELETE", "GET"};

}  // namespace

void CallbackSpec::members(SpecMembers& in) {
  CallbackEndpoint::members(in);
  if (in.text("method", method, {.meaning = "POST, PUT, PATCH, DELETE or GET", .one_of = kMethods}) &&
      std::ranges::find(kMethods, method) == std::end(kMethods)) {
    in.problem("method must be POST, PUT, PATCH, DELETE or GET");
  }
  if (in.describes()) in.describe("body", ordered_json::object(), kAboutBody);
  if (const auto* given = in.any("body")) {
    body_is_json = !given->is_string();
    body = body_is_json ? given->dump(-1, ' ', false, json::error_handler_t::replace) : given->get<std::string>();
    if (method == "GET") in.problem("a GET has no body");
  }
  if (in.writes() && body) in.put("body", body_is_json ? ordered_json::parse(*body) : ordered_json(*body));
  in.number("timeoutMs", timeout_ms, 1, kMaxTimeoutMs, {.meaning = "time for an answer"});
}

Reach CallbackSpec::reach() const { return {.urls = {url}}; }

Task<Result<void>> CallbackSpec::plan(PlanSources&, JobPlan& plan) const {
  plan.keys = 1;
  plan.bytes = body ? body->size() : 0;
  plan.samples.push_back({{}, plan.bytes, {method + " " + url + ", signed"}});
  co_return Result<void>{};
}

}  // namespace tidemark::jobs
