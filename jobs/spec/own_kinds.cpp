#include "jobs/spec/own_kinds.h"

#include <algorithm>

#include "jobs/spec/job_spec.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {
namespace {

constexpr std::int64_t kLongestKindLease = 3600;
constexpr std::int64_t kMostRunning = 10'000;
constexpr std::int64_t kMostPerSecond = 1'000'000;

/// Tells whether these are lower-case letters, digits and single hyphens between them, a letter first.
bool has_form(std::string_view name) {
  if (name.empty() || name.size() > kMaxKindName || name.back() == '-') return false;
  if (name.front() < 'a' || name.front() > 'z' || name.find("--") != std::string_view::npos) return false;
  return std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

/// Unlike those of other objects, each member may be left out.
void per_key_member(SpecMembers& in, std::optional<PerKey>& per_key) {
  if (in.describes()) {
    in.describe("perKey", schema_of<PerKey>(Use::kRequest), {.meaning = "limits for the jobs of each key"});
  }
  if (in.writes() && per_key) in.put("perKey", members_json(*per_key));
  const auto* given = in.any("perKey");
  if (given == nullptr) return;
  if (!given->is_object()) return in.problem("perKey must be an object with running or perSecond");
  in.nested("perKey", *given, per_key.emplace());
}

}  // namespace

bool is_own_kind_name(std::string_view name) { return has_form(name) && name != "unknown" && !is_kind(name); }

void PerKey::members(SpecMembers& in) {
  in.number("running", running, 0, kMostRunning, {.meaning = "jobs of one key that run at once; 0: no limit"});
  in.number("perSecond", per_second, 0, kMostPerSecond,
            {.meaning = "jobs of one key that begin in a second; 0: no limit"});
}

void OwnKind::members(SpecMembers& in) {
  in.number("leaseSeconds", lease_seconds, 1, kLongestKindLease,
            {.meaning = "time after which a job whose worker is silent goes to another worker"});
  in.number("maxAttempts", max_attempts, 1, kMaxAttemptsLimit,
            {.meaning = "attempts before a job becomes poison, unless the job says otherwise"});
  const auto most_ms = std::chrono::milliseconds(kLongestRetry).count();
  in.number("retryBaseMs", retry_base_ms, 1, most_ms, {.meaning = "greatest delay before the first retry, likewise"});
  in.number("retryCapMs", retry_cap_ms, 1, most_ms, {.meaning = "greatest delay before any retry, likewise"});
  if (retry_base_ms && retry_cap_ms && *retry_base_ms > *retry_cap_ms) {
    in.problem("retryBaseMs must not be more than retryCapMs");
  }
  in.number("keepHours", keep_hours, kMinKeepHours, kMaxKeepHours,
            {.meaning = "keep records so long after the end, likewise"});
  per_key_member(in, per_key);
  in.flag("steps", steps, {.meaning = "true: its workers may end jobs with steps, whatever else their tokens allow"});
}

const OwnKind* find_kind(const OwnKinds& kinds, std::string_view name) {
  const auto found = std::ranges::find(kinds, name, &OwnKind::name);
  return found == kinds.end() ? nullptr : &*found;
}

}  // namespace tidemark::jobs
