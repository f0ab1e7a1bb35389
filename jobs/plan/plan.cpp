#include "jobs/plan/plan.h"

#include <algorithm>

#include "jobs/kinds/archive/object_names.h"
#include "jobs/kinds/archive/plan_objects.h"
#include "jobs/kinds/undo/undo_plan.h"

namespace tidemark::jobs {
namespace {

using table_store::Entity;

// Where no job of the kind has been measured yet.
constexpr double kAssumedPerSecond = 10'000;
constexpr std::uint32_t kMeasuredJobs = 100;
constexpr std::uint64_t kLeastMeasured = 500;
constexpr LookBounds kPlanBounds{.keys = kPlannedKeys, .samples = kPlanSamples, .reads = 2000, .bytes = 1UL << 30};

/// What a plan looks at, from any kind of job.
struct Scope {
  std::string source, destination, filter, operation;
  std::string other;  // the step of a kind that does something else than those below
  std::optional<EntityKey> entity;
  std::optional<ObjectArchive> archive;  // instead of the table that is the archive
  bool moves = false;
  bool back = false;
  bool copies = false;
  bool erases = false;
};

/// Scope of every kind but undo, redrive and callback, which must look at other things first.
struct ScopeOf {
  static Scope selected(const Selection& selection, const std::string& source) {
    Scope scope;
    scope.source = source;
    scope.filter = selection.filter.value_or("");
    scope.entity = selection.entity;
    return scope;
  }
  Scope operator()(const ArchiveSpec& spec) const {
    auto scope = selected(spec, spec.source);
    scope.destination = spec.destination;
    scope.archive = spec.archive;
    scope.moves = true;
    return scope;
  }
  Scope operator()(const UnarchiveSpec& spec) const {
    auto scope = selected(spec, spec.source);
    scope.destination = spec.destination;
    scope.archive = spec.archive;
    scope.moves = scope.back = true;
    return scope;
  }
  Scope operator()(const CopySpec& spec) const {
    auto scope = selected(spec, spec.source);
    scope.destination = spec.destination;
    scope.copies = true;
    return scope;
  }
  Scope operator()(const DeleteSpec& spec) const {
    auto scope = selected(spec, spec.source);
    scope.erases = !spec.whole_table;
    if (spec.whole_table) scope.other = "removed together with the table " + spec.source;
    return scope;
  }
  Scope operator()(const IndexSpec& spec) const {
    auto scope = selected({}, spec.source);
    scope.other = "list its key in " + spec.destination + " under its " + spec.property + ", if it has one";
    return scope;
  }
  Scope operator()(const OffloadSpec& spec) const {
    auto scope = selected(spec, spec.source);
    scope.other = "move properties of at least " + std::to_string(spec.min_bytes) +
                  " bytes, if it has any, to container " + spec.container;
    return scope;
  }
  Scope operator()(const InlineSpec& spec) const {
    auto scope = selected(spec, spec.source);
    scope.other = "put properties back, if any are in blobs";
    return scope;
  }
  Scope operator()(const UndoSpec&) const { return {}; }
  Scope operator()(const CallbackSpec&) const { return {}; }
  Scope operator()(const RedriveSpec&) const { return {}; }
};

Task<Result<Scope>> scope_of(JobStore& store, JobSpec spec) {
  auto scope = std::visit(ScopeOf{}, spec.work);
  const auto* undo = std::get_if<UndoSpec>(&spec.work);
  if (undo == nullptr) co_return scope;
  auto plan = CO_TRY(co_await plan_undo(store, undo->job));
  scope.source = std::move(plan.source);
  scope.destination = std::move(plan.destination);
  scope.archive = std::move(plan.archive);
  scope.operation = std::move(plan.operation);
  scope.erases = plan.step == UndoStep::kErase;
  scope.moves = !scope.erases;
  scope.back = plan.step == UndoStep::kRestore;
  co_return scope;
}

std::string there_now(const Scope& scope, const Entity& from, const std::optional<Entity>& there) {
  if (!there) return "nothing is there";
  if (!scope.back && !there->is_copy()) return "another entity is in the way, so this one would be skipped";
  const auto carried = scope.back ? from.source_version.value_or(from.version) : from.version;
  const auto effective = there->source_version.value_or(there->version);
  if (effective > carried) return "a newer entity is there, so this one would be skipped or read again";
  if (there->source_version == carried) return "the same version is there already";
  return there->source_version ? "replaces the copy of an older version" : "replaces an older entity";
}

std::string object_step(const ObjectArchive& archive, const Entity& entity) {
  if (archive.format == ArchiveFormat::kEntity) {
    return "write " + text_of(archive) + " document " + document_name(archive, entity.partition_key, entity.row_key) +
           ", unless a newer one is there";
  }
  return "write into a part of " + text_of(archive) + " below " + archive_root(archive) +
         part_group(archive, entity.partition_key, entity.version) + "/";
}

Task<Result<PlanSample>> sample_of(table_store::TableClient& tables, const Scope& scope, Entity entity) {
  PlanSample sample;
  sample.key = {entity.partition_key, entity.row_key};
  sample.bytes = entity_bytes(entity);
  const bool to_objects = scope.archive && !scope.back;
  if (to_objects) sample.steps.push_back(object_step(*scope.archive, entity));
  if (scope.moves && !to_objects) {
    auto there = co_await tables.get(scope.destination, entity.partition_key, entity.row_key);
    if (!there && there.error().code != ErrorCode::kTableNotFound) co_return fail(std::move(there.error()));
    sample.steps.push_back("copy to " + scope.destination + ": " +
                           there_now(scope, entity, there ? *there : std::nullopt));
  }
  if (scope.copies) sample.steps.push_back("write a copy to " + scope.destination + ", unless a newer one is there");
  if (scope.moves || scope.erases) {
    const auto from = scope.archive && scope.back ? text_of(*scope.archive) : scope.source;
    sample.steps.push_back("remove from " + from + " if it still is the version of " +
                           to_iso8601(Time(Ticks(entity.version))));
  }
  if (!scope.other.empty()) sample.steps.push_back(scope.other);
  co_return sample;
}

Task<Result<void>> scan(table_store::TableClient& tables, const Scope& scope, JobPlan& plan) {
  std::string continuation;
  do {
    table_store::QueryRequest request;
    request.table = scope.source;
    request.filter = scope.filter;
    request.operation = scope.operation;
    request.continuation = std::move(continuation);
    auto page = CO_TRY(co_await tables.query(std::move(request)));
    for (const auto& entity : page.entities) {
      ++plan.keys;
      plan.bytes += entity_bytes(entity);
      if (plan.samples.size() == kPlanSamples) continue;
      auto sample = CO_TRY(co_await sample_of(tables, scope, entity));
      plan.samples.push_back(std::move(sample));
    }
    continuation = std::move(page.continuation);
  } while (!continuation.empty() && plan.keys < kPlannedKeys);
  plan.complete = continuation.empty();
  co_return Result<void>{};
}

Task<Result<void>> scan_archive(table_store::TableClient& tables, const ObjectAccess& access, const Scope& scope,
                                JobPlan& plan) {
  auto objects = open_archive(access, tables, *scope.archive);
  if (!objects) {
    plan.complete = false;
    // Not a reason to fail: the workers may reach what a plan does not.
    plan.samples.push_back({scope.entity.value_or(EntityKey{}),
                            0,
                            {"what is in " + text_of(*scope.archive) + " is seen by the workers alone"}});
    co_return Result<void>{};
  }
  ObjectsWanted wanted{*scope.archive, scope.entity, scope.filter, scope.operation};
  auto found = CO_TRY(co_await look_into_archive(**objects, std::move(wanted), kPlanBounds));
  plan.keys = found.keys;
  plan.bytes = found.bytes;
  plan.complete = found.complete;
  for (auto& [entity, object] : found.samples) {
    auto sample = CO_TRY(co_await sample_of(tables, scope, std::move(entity)));
    plan.samples.push_back(std::move(sample));
  }
  if (scope.entity && plan.keys == 0) plan.samples.push_back({*scope.entity, 0, {"not found: skipped"}});
  co_return Result<void>{};
}

Task<Result<void>> look_at_one(table_store::TableClient& tables, const Scope& scope, JobPlan& plan) {
  auto entity = CO_TRY(co_await tables.get(scope.source, scope.entity->partition_key, scope.entity->row_key));
  if (!entity.has_value()) {
    plan.samples.push_back({*scope.entity, 0, {"not found: skipped"}});
    co_return Result<void>{};
  }
  plan.keys = 1;
  auto sample = CO_TRY(co_await sample_of(tables, scope, std::move(*entity)));
  plan.bytes = sample.bytes;
  plan.samples.push_back(std::move(sample));
  co_return Result<void>{};
}

/// Keys a second of the newest large job of the kind that succeeded.
Task<double> measured_rate(JobStore& store, std::string kind) {
  auto page = co_await store.list(kMeasuredJobs, {}, std::move(kind), std::string(state_name(JobState::kSucceeded)));
  if (!page) co_return kAssumedPerSecond;
  for (const auto& job : page->jobs) {
    if (job.done < kLeastMeasured || !job.started_at || !job.finished_at) continue;
    const auto took = std::chrono::duration<double>(*job.finished_at - *job.started_at).count();
    if (took > 0) co_return static_cast<double>(job.done) / took;
  }
  co_return kAssumedPerSecond;
}

Task<Result<void>> count_poison(PoisonStore& poison, const RedriveSpec& spec, JobPlan& plan) {
  auto groups = CO_TRY(co_await poison.groups(spec.which));
  for (const auto& group : groups.groups) plan.keys += group.count;
  plan.complete = groups.complete;
  if (spec.limit) plan.keys = std::min(plan.keys, *spec.limit);
  plan.seconds = static_cast<double>(plan.keys) / spec.per_second;
  co_return Result<void>{};
}

}  // namespace

std::size_t entity_bytes(const Entity& entity) {
  std::size_t bytes = 64 + entity.partition_key.size() + entity.row_key.size();
  for (const auto& property : entity.properties) {
    bytes += property.name.size() + 16;
    if (const auto* text = std::get_if<std::string>(&property.value)) bytes += text->size();
    if (const auto* binary = std::get_if<table_store::Binary>(&property.value)) bytes += binary->bytes.size();
  }
  return bytes;
}

Task<Result<JobPlan>> plan_job(JobStore& store, PoisonStore& poison, table_store::TableClient& tables, JobSpec spec,
                               ObjectAccess access) {
  JobPlan plan;
  plan.kind = std::string(kind_name(spec));
  if (const auto* redrive = std::get_if<RedriveSpec>(&spec.work)) {
    CO_TRY(co_await count_poison(poison, *redrive, plan));
    co_return plan;
  }
  if (const auto* callback = std::get_if<CallbackSpec>(&spec.work)) {
    plan.keys = 1;
    plan.bytes = callback->body ? callback->body->size() : 0;
    plan.samples.push_back({{}, plan.bytes, {callback->method + " " + callback->url + ", signed"}});
    co_return plan;
  }
  auto scope = co_await scope_of(store, spec);
  if (!scope && http_status_of(scope.error().code) >= 500) co_return fail(std::move(scope.error()));
  if (!scope) {
    plan.problems.push_back(scope.error().message);
    co_return plan;
  }
  const bool from_objects = scope->archive && scope->back;
  auto looked = co_await (from_objects    ? scan_archive(tables, access, *scope, plan)
                          : scope->entity ? look_at_one(tables, *scope, plan)
                                          : scan(tables, *scope, plan));
  if (looked.failed_with(ErrorCode::kTableNotFound)) {
    plan.problems.push_back("The source table '" + scope->source + "' does not exist.");
    co_return plan;
  }
  if (!looked) co_return fail(std::move(looked.error()));
  if (spec.max_affected && plan.keys > *spec.max_affected) {
    plan.problems.push_back("More entities are selected than maxAffected allows, which is " +
                            std::to_string(*spec.max_affected) + ".");
  }
  auto rate = co_await measured_rate(store, plan.kind);
  if (spec.max_per_second) rate = std::min<double>(rate, *spec.max_per_second);
  plan.seconds = static_cast<double>(plan.keys) / rate;
  co_return plan;
}

}  // namespace tidemark::jobs
