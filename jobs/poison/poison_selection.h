// The poison messages that a job handles, and at which rate: the members that redrive and purge have in common. Pure.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "common/base/time.h"
#include "jobs/kinds/kind.h"

namespace tidemark::jobs {

/// A filter on the poison messages of jobs; absent members do not restrict it.
struct PoisonFilter {
  std::string kind;
  std::string source;  // the table that the job reads
  std::string fingerprint;
  std::optional<Time> moved_after;
  std::optional<Time> moved_before;
  bool operator==(const PoisonFilter&) const = default;
};

/// The number of ids, of messages or of jobs, that fit into a job's text.
inline constexpr std::size_t kMaxPoisonIds = 500;

struct PoisonSelection {
  std::string queue = {};             // a queue of users, without -poison; empty: the poison messages of jobs
  std::vector<std::string> ids = {};  // of messages or their jobs, instead of a filter; empty: all that match
  PoisonFilter filter = {};           // for the poison messages of jobs
  std::uint32_t per_second = 10;
  std::optional<std::uint64_t> limit = {};
  bool operator==(const PoisonSelection&) const = default;

  void members(SpecMembers& in);
  Task<Result<void>> plan(PlanSources& sources, JobPlan& plan) const;
};

struct JobSpec;
/// Returns null if the job does not handle poison messages.
const PoisonSelection* poison_in(const JobSpec& spec);

}  // namespace tidemark::jobs
