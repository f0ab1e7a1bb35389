#include "jobs/kinds/own/own.h"

#include "jobs/kinds/reach.h"
#include "jobs/plan/plan.h"
#include "jobs/spec/own_kinds.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr About kAboutVersion{.meaning = "the version of the workers that can do it",
                              .option = "kinds of your own: the version of the workers that can do it",
                              .flag = "--kind-version"};
constexpr About kAboutInput{.meaning = "what the worker gets; any JSON",
                            .option = "kinds of your own: what the worker gets; as JSON if it is JSON"};

}  // namespace

void OwnSpec::members(SpecMembers& in) {
  in.number("version", version, 1, kMaxKindVersion, kAboutVersion);
  if (in.describes()) in.describe("input", ordered_json::object(), kAboutInput);
  if (const auto* given = in.any("input")) input = given->dump(-1, ' ', false, json::error_handler_t::replace);
  if (in.writes() && !input.empty()) in.put("input", ordered_json::parse(input));
}

Reach OwnSpec::reach() const { return {}; }

Task<Result<void>> OwnSpec::plan(PlanSources&, JobPlan& plan) const {
  plan.keys = 1;
  plan.bytes = input.size();
  plan.samples.push_back(
      {{}, plan.bytes, {"done by a worker of yours that claims " + kind + "@" + std::to_string(version)}});
  co_return Result<void>{};
}

}  // namespace tidemark::jobs
