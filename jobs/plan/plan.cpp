#include "jobs/plan/plan.h"

#include <algorithm>

#include "jobs/kinds/archive/archived_object.h"
#include "jobs/kinds/archive/object_names.h"
#include "jobs/kinds/archive/plan_objects.h"
#include "jobs/kinds/reach.h"
#include "jobs/objects/blob_objects.h"

namespace tidemark::jobs {
namespace {

using table_store::Entity;

// Used if no job of the kind has been measured yet.
constexpr double kAssumedPerSecond = 10'000;
constexpr std::uint32_t kMeasuredJobs = 100;
constexpr Duration kPlanPatience = std::chrono::seconds(2);  // a table may be large, with few matching entities
constexpr std::uint64_t kLeastMeasured = 500;
constexpr LookBounds kPlanBounds{.keys = kPlannedKeys, .samples = kPlanSamples, .reads = 2000, .bytes = 1UL << 30};

std::string there_now(bool back, const Entity& from, const std::optional<Entity>& there) {
  if (!there) return "nothing is there";
  if (!back && !there->is_copy()) return "another entity is in the way, so this one would be skipped";
  const auto carried = back ? from.source_version.value_or(from.version) : from.version;
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

/// Returns false if the entity stays where it is.
Task<Result<bool>> add_rekey_step(table_store::TableClient& tables, const Reach& reach, Entity entity,
                                  PlanSample& sample) {
  const auto key = reach.key_for(entity);
  const EntityKey old{entity.partition_key, entity.row_key};
  if (!key || *key == old || entity.is_copy()) {
    sample.steps.emplace_back(!key          ? "a property of the key is missing, or the key is too long: skipped"
                              : *key == old ? "it has this key already: skipped"
                                            : "a copy, which stays with its original: skipped");
    co_return false;
  }
  const auto there = CO_TRY(co_await tables.get(reach.to.table, key->partition_key, key->row_key));
  sample.steps.push_back("put under the key " + key->partition_key + " / " + key->row_key +
                         (there ? ": another entity is in the way, so this one would be skipped" : ""));
  co_return !there.has_value();
}

/// Returns "Former", or "other/Former" in another account.
std::string place_text(const Location& location) {
  const auto where = location.archive ? text_of(*location.archive) : location.table;
  return location.account.empty() ? where : location.account + "/" + where;
}

Task<Result<PlanSample>> sample_of(const PlanSources& sources, const Reach& reach, Entity entity) {
  const auto tables_there = sources.store.tables_in(reach.to.account);
  auto& tables = *tables_there;
  PlanSample sample;
  sample.key = {entity.partition_key, entity.row_key};
  sample.bytes = entity_bytes(entity);
  if (reach.moves() && reach.to.archive) {
    sample.steps.push_back(object_step(*reach.to.archive, entity));
  } else if (reach.moves()) {
    auto there = co_await tables.get(reach.to.table, entity.partition_key, entity.row_key);
    if (!there && !there.failed_with(ErrorCode::kTableNotFound)) co_return fail(std::move(there.error()));
    sample.steps.push_back("copy to " + place_text(reach.to) + ": " +
                           there_now(reach.step == Step::kRestore, entity, there ? *there : std::nullopt));
  }
  if (reach.step == Step::kCopy) {
    sample.steps.push_back("write a copy to " + place_text(reach.to) + ", unless a newer one is there");
  }
  if (reach.step == Step::kRekey && !CO_TRY(co_await add_rekey_step(tables, reach, entity, sample))) co_return sample;
  if (reach.moves() || reach.step == Step::kErase || reach.step == Step::kRekey) {
    sample.steps.push_back("remove from " + place_text(reach.from) + " if it still is the version of " +
                           to_iso8601(Time(Ticks(entity.version))));
  }
  if (!reach.note.empty()) sample.steps.push_back(reach.note);
  co_return sample;
}

Task<Result<void>> look_into_table(const PlanSources& sources, const Reach& reach, JobPlan& plan) {
  const auto tables = sources.store.tables_in(reach.from.account);
  const auto until = sources.store.now() + kPlanPatience;
  table_store::QueryRequest request;
  request.patience = kPlanPatience;
  request.table = reach.from.table;
  request.filter = reach.selection.filter.value_or("");
  request.operation = reach.operation;
  do {
    auto page = CO_TRY(co_await tables->query(request));
    for (const auto& entity : page.entities) {
      ++plan.keys;
      plan.bytes += entity_bytes(entity);
      if (plan.samples.size() == kPlanSamples) continue;
      plan.samples.push_back(CO_TRY(co_await sample_of(sources, reach, entity)));
    }
    request.continuation = std::move(page.continuation);
  } while (!request.continuation.empty() && plan.keys < kPlannedKeys && sources.store.now() < until);
  plan.complete = request.continuation.empty();
  co_return Result<void>{};
}

Task<Result<void>> look_into_archive(const PlanSources& sources, const Reach& reach, JobPlan& plan) {
  const auto& archive = *reach.from.archive;
  const auto& one = reach.selection.entity;
  auto objects = open_archive(sources.access, sources.tables, archive, reach.from.account);
  if (!objects) {
    plan.complete = false;
    // This is not an error: the workers may reach archives that a plan does not.
    plan.samples.push_back(
        {one.value_or(EntityKey{}), 0, {"what is in " + text_of(archive) + " is seen by the workers alone"}});
    co_return Result<void>{};
  }
  const bool all = !one && reach.operation.empty();
  auto there = co_await (all ? require_any(**objects, archive) : (*objects)->require());
  if (!there && http_status_of(there.error().code) >= 500) co_return fail(std::move(there.error()));
  if (!there) {
    plan.problems.push_back(there.error().message);
    co_return Result<void>{};
  }
  ObjectsWanted wanted{archive, one, reach.selection.filter.value_or(""), reach.operation};
  auto found = CO_TRY(co_await look_into_archive(**objects, std::move(wanted), kPlanBounds));
  plan.keys = found.keys;
  plan.bytes = found.bytes;
  plan.complete = found.complete;
  for (auto& [entity, object] : found.samples) {
    plan.samples.push_back(CO_TRY(co_await sample_of(sources, reach, std::move(entity))));
  }
  if (one && plan.keys == 0) plan.samples.push_back({*one, 0, {"not found: skipped"}});
  co_return Result<void>{};
}

Task<Result<void>> look_at_one(const PlanSources& sources, const Reach& reach, JobPlan& plan) {
  const auto tables = sources.store.tables_in(reach.from.account);
  const auto& key = *reach.selection.entity;
  auto entity = CO_TRY(co_await tables->get(reach.from.table, key.partition_key, key.row_key));
  if (!entity.has_value()) {
    plan.samples.push_back({key, 0, {"not found: skipped"}});
    co_return Result<void>{};
  }
  plan.keys = 1;
  auto sample = CO_TRY(co_await sample_of(sources, reach, std::move(*entity)));
  plan.bytes = sample.bytes;
  plan.samples.push_back(std::move(sample));
  co_return Result<void>{};
}

/// Returns the keys per second of the newest large job of the kind that succeeded.
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

Task<Result<void>> look_for_container(const PlanSources& sources, std::string container, JobPlan& plan) {
  if (container.empty() || sources.access.blobs == nullptr) co_return Result<void>{};
  BlobObjects objects(*sources.access.blobs, std::move(container));
  const auto there = co_await objects.require();
  if (!there.failed_with(ErrorCode::kContainerNotFound)) co_return there;
  plan.problems.push_back(there.error().message);
  co_return Result<void>{};
}

/// Plans a job of a kind that reaches entities.
Task<Result<void>> plan_entities(PlanSources& sources, const JobSpec& spec, JobPlan& plan) {
  auto reach = co_await resolve(sources.store, reach_of(spec));
  if (!reach && http_status_of(reach.error().code) >= 500) co_return fail(std::move(reach.error()));
  if (!reach) {
    plan.problems.push_back(reach.error().message);
    co_return Result<void>{};
  }
  if (const auto allowed = check_accounts(*reach, sources.access.accounts); !allowed) {
    plan.problems.push_back(allowed.error().message);
    co_return Result<void>{};
  }
  if (reach->step == Step::kSteps) {
    plan.samples.push_back(
        {{}, 0, {"restore the entities that the transaction changed, unless they have changed since"}});
    co_return Result<void>{};
  }
  auto looked = co_await (reach->from.archive       ? look_into_archive(sources, *reach, plan)
                          : reach->selection.entity ? look_at_one(sources, *reach, plan)
                                                    : look_into_table(sources, *reach, plan));
  if (looked.failed_with(ErrorCode::kTableNotFound)) {
    plan.problems.push_back("The source table '" + place_text(reach->from) + "' does not exist.");
    co_return Result<void>{};
  }
  if (!looked) co_return fail(std::move(looked.error()));
  CO_TRY(co_await look_for_container(sources, reach->container, plan));
  if (spec.max_affected && plan.keys > *spec.max_affected) {
    plan.problems.push_back("More entities are selected than maxAffected allows, which is " +
                            std::to_string(*spec.max_affected) + ".");
  }
  auto rate = co_await measured_rate(sources.store, plan.kind);
  if (spec.max_per_second) rate = std::min<double>(rate, *spec.max_per_second);
  plan.seconds = static_cast<double>(plan.keys) / rate;
  co_return Result<void>{};
}

}  // namespace

std::size_t entity_bytes(const Entity& entity) {
  return 64 + entity.partition_key.size() + entity.row_key.size() + table_store::properties_bytes(entity.properties);
}

Task<Result<JobPlan>> plan_job(PlanSources sources, JobSpec spec) {
  JobPlan plan;
  plan.kind = std::string(kind_name(spec));
  CO_TRY(co_await std::visit(
      [&]<class Work>(const Work& work) {
        if constexpr (PlansItself<Work>) {
          return work.plan(sources, plan);
        } else {
          return plan_entities(sources, spec, plan);
        }
      },
      spec.work));
  co_return plan;
}

}  // namespace tidemark::jobs
