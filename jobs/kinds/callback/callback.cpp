#include "jobs/kinds/callback/callback.h"

#include <algorithm>

#include "jobs/kinds/reach.h"
#include "jobs/plan/plan.h"
#include "jobs/spec/spec_reader.h"

namespace tidemark::jobs {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::int64_t kMaxTimeoutMs = 120'000;
constexpr std::string_view kMethods[] = {"POST", "PUT", "PATCH", "DELETE", "GET"};

}  // namespace

CallbackSpec CallbackSpec::read(SpecReader& in) {
  CallbackSpec spec;
  read_endpoint(in, spec);
  if (auto method = in.text("method", false)) {
    if (std::ranges::find(kMethods, *method) == std::end(kMethods)) {
      in.problem("method must be POST, PUT, PATCH, DELETE or GET");
    }
    spec.method = std::move(*method);
  }
  if (const auto* body = in.any("body")) {
    spec.body_is_json = !body->is_string();
    spec.body =
        body->is_string() ? body->get<std::string>() : body->dump(-1, ' ', false, json::error_handler_t::replace);
    if (spec.method == "GET") in.problem("a GET has no body");
  }
  spec.timeout_ms = static_cast<std::uint32_t>(in.integer("timeoutMs", 1, kMaxTimeoutMs).value_or(spec.timeout_ms));
  return spec;
}

void CallbackSpec::write(ordered_json& out) const {
  write_endpoint(*this, out);
  out["method"] = method;
  if (body) out["body"] = body_is_json ? ordered_json::parse(*body) : ordered_json(*body);
  out["timeoutMs"] = timeout_ms;
}

Reach CallbackSpec::reach() const { return {.url = url}; }

Task<Result<void>> CallbackSpec::plan(PlanSources&, JobPlan& plan) const {
  plan.keys = 1;
  plan.bytes = body ? body->size() : 0;
  plan.samples.push_back({{}, plan.bytes, {method + " " + url + ", signed"}});
  co_return Result<void>{};
}

}  // namespace tidemark::jobs
