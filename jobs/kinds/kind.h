// The description of a kind of job, so that no code outside its folder has to know it. Its spec is a struct with the
// members below; without one of them, it does not compile. To add a kind, add its folder and its line in kinds.h. run()
// is defined in workers/kinds, which is compiled only into the workers.
#pragma once
#include <concepts>
#include <string_view>

#include "common/base/async.h"
#include "common/base/error.h"
#include "jobs/spec/selection.h"

namespace tidemark::workers {
class JobContext;
struct JobOutcome;
}  // namespace tidemark::workers

namespace tidemark::jobs {

class SpecMembers;
struct JobPlan;
struct PlanSources;
struct Reach;

template <class Spec>
concept Kind = std::equality_comparable<Spec> && requires(const Spec& spec, workers::JobContext& context) {
  { Spec::kName } -> std::convertible_to<std::string_view>;
  /// The kind takes maxAffected and maxPerSecond.
  { Spec::kSelectsEntities } -> std::convertible_to<bool>;
  /// The kind's own members, in the order in which they are written. Its schema in api/rest/openapi.json and its
  /// options of the command line are made from them.
  { &Spec::members } -> std::same_as<void (Spec::*)(SpecMembers&)>;
  /// Where entities come from, where they go and how they change; plan, undo and much else are derived from it.
  { &Spec::reach } -> std::same_as<Reach (Spec::*)() const>;
  /// True if it has an operation in the blob store too, which must be closed at the end of the job.
  { spec.writes_blobs() } -> std::same_as<bool>;
  /// Does the work; a function of namespace workers.
  run(context, spec);
};

/// A kind whose failure cancels the job; any other job that fails becomes poison.
template <class Spec>
concept NeverPoison = requires { requires Spec::kNeverPoison; };

/// A kind that reaches no entities makes its own plan.
template <class Spec>
concept PlansItself = requires(const Spec& spec, PlanSources& sources, JobPlan& plan) { spec.plan(sources, plan); };

}  // namespace tidemark::jobs
