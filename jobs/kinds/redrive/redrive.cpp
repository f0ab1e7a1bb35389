#include "jobs/kinds/redrive/redrive.h"

#include "jobs/kinds/reach.h"
#include "jobs/plan/plan.h"
#include "jobs/spec/spec_reader.h"

namespace tidemark::jobs {
namespace {
constexpr std::size_t kFingerprintLength = 16;
}

RedriveSpec RedriveSpec::read(SpecReader& in) {
  RedriveSpec spec;
  spec.which.kind = in.text("poisonKind", false).value_or("");
  if (!spec.which.kind.empty() && spec.which.kind != "unknown" && !is_kind(spec.which.kind)) {
    in.problem("poisonKind must be a kind of job, or unknown");
  }
  spec.which.fingerprint = in.text("fingerprint", false).value_or("");
  if (!spec.which.fingerprint.empty() && spec.which.fingerprint.size() != kFingerprintLength) {
    in.problem("fingerprint must have 16 hex digits");
  }
  spec.which.moved_after = in.time("movedAfter");
  spec.which.moved_before = in.time("movedBefore");
  spec.per_second = static_cast<std::uint32_t>(in.integer("perSecond", 1, 10'000).value_or(10));
  spec.canary = static_cast<std::uint32_t>(in.integer("canary", 0, 100).value_or(0));
  if (auto limit = in.integer("limit", 1, INT64_MAX)) spec.limit = static_cast<std::uint64_t>(*limit);
  return spec;
}

void RedriveSpec::write(nlohmann::ordered_json& out) const {
  if (!which.kind.empty()) out["poisonKind"] = which.kind;
  if (!which.fingerprint.empty()) out["fingerprint"] = which.fingerprint;
  if (which.moved_after) out["movedAfter"] = to_iso8601(*which.moved_after);
  if (which.moved_before) out["movedBefore"] = to_iso8601(*which.moved_before);
  out["perSecond"] = per_second;
  out["canary"] = canary;
  if (limit) out["limit"] = *limit;
}

Reach RedriveSpec::reach() const { return {}; }

Task<Result<void>> RedriveSpec::plan(PlanSources& sources, JobPlan& plan) const {
  auto groups = CO_TRY(co_await sources.poison.groups(which));
  for (const auto& group : groups.groups) plan.keys += group.count;
  plan.complete = groups.complete;
  if (limit) plan.keys = std::min(plan.keys, *limit);
  plan.seconds = static_cast<double>(plan.keys) / per_second;
  co_return Result<void>{};
}

}  // namespace tidemark::jobs
