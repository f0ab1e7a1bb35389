// The description of a kind of job, so that no code outside its folder has to know it. Its spec is a struct with the
// members below; without one of them, it does not compile. To add a kind, add its folder and its line in kinds.h. run()
// is defined in workers/kinds, which is compiled only into the workers.
#pragma once
#include <concepts>
#include <span>
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

/// An option of `tidemark job submit` that only some kinds have.
struct KindOption {
  enum class Form : std::uint8_t { kText, kTime, kNumber, kFlag, kNames, kValues, kJson };
  const char* flag;
  const char* member;  // a member of the job, or of `object`
  const char* meaning;
  Form form = Form::kText;
  const char* object = nullptr;  // set: `member` is in this member of the job
};

template <class Spec>
concept Kind = std::equality_comparable<Spec> && requires(const Spec& spec, workers::JobContext& context) {
  { Spec::kName } -> std::convertible_to<std::string_view>;
  /// The kind takes maxAffected and maxPerSecond.
  { Spec::kSelectsEntities } -> std::convertible_to<bool>;
  { Spec::kOptions } -> std::convertible_to<std::span<const KindOption>>;
  /// The kind's own members, in the order in which they are written.
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
