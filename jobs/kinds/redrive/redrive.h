// Redrive: sends poison messages back, those that match and were there when the job was submitted, at most perSecond.
// With a canary, so many go first; then the job waits until all of their jobs have ended, without holding a worker, and
// goes on only if every one succeeded. A redrive that fails is cancelled: as poison, it would be one more message among
// those that it was to send back. Each message moves in one transaction with its id, so a repeat finds it gone.
//   checkpoint {"canaries":[job ids],"pending":[message ids],"sent":N,"passed":B}
// Fails with kCanaryFailed and what the stores report.
#pragma once
#include "common/base/time.h"
#include "jobs/kinds/kind.h"

namespace tidemark::jobs {

/// Which poison messages; absent members do not restrict.
struct PoisonFilter {
  std::string kind;
  std::string source;  // the table that the job reads
  std::string fingerprint;
  std::optional<Time> moved_after;
  std::optional<Time> moved_before;
  bool operator==(const PoisonFilter&) const = default;
};

struct RedriveSpec {
  PoisonFilter which;
  std::uint32_t per_second = 10;
  std::uint32_t canary = 0;  // so many first; the rest only if all of them succeed
  std::optional<std::uint64_t> limit;
  bool operator==(const RedriveSpec&) const = default;

  static constexpr std::string_view kName = "redrive";
  static constexpr bool kSelectsEntities = false;
  static constexpr bool kNeverPoison = true;
  static constexpr KindOption kOptions[] = {
      {"--poison-kind", "poisonKind", "messages of this kind"},
      {"--poison-source", "poisonSource", "messages of jobs that read this table"},
      {"--fingerprint", "fingerprint", "messages with this kind of failure"},
      {"--moved-after", "movedAfter", "messages that became poison at or after this time", KindOption::Form::kTime},
      {"--moved-before", "movedBefore", "and before this time", KindOption::Form::kTime},
      {"--per-second", "perSecond", "messages a second", KindOption::Form::kNumber},
      {"--canary", "canary", "send so many first, the rest only if they succeed", KindOption::Form::kNumber},
      {"--limit", "limit", "at most so many", KindOption::Form::kNumber},
  };
  void members(SpecMembers& in);
  [[nodiscard]] Reach reach() const;
  Task<Result<void>> plan(PlanSources& sources, JobPlan& plan) const;
  [[nodiscard]] static bool writes_blobs() { return false; }
};

}  // namespace tidemark::jobs

namespace tidemark::workers {
Task<Result<JobOutcome>> run(JobContext& context, jobs::RedriveSpec spec);
}  // namespace tidemark::workers
