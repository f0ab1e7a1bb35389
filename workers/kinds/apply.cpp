#include "jobs/kinds/apply/apply.h"

#include "common/base/encoding.h"
#include "feeds/on_change/on_change_store.h"
#include "workers/on_change/rule_jobs.h"
#include "workers/runtime/bulk_job.h"

namespace tidemark::workers {
namespace {

using table_store::Entity;

/// Returns the change that would have made this version of the entity.
table_store::Change insertion_of(const Entity& entity) {
  table_store::Change out;
  out.kind = table_store::ChangeKind::kInsert;
  out.version = entity.version;
  out.partition_key = entity.partition_key;
  out.row_key = entity.row_key;
  out.after = entity.properties;
  return out;
}

/// An entity has one such id for each of its versions.
std::string id_of(const Entity& entity) {
  const auto text = entity.partition_key + '\0' + entity.row_key + '\0' + std::to_string(entity.version);
  return "existing-" + hex_encode(sha256(text)).substr(0, 32);
}

class Applier final : public BulkJob {
 public:
  Applier(JobContext& context, jobs::ApplySpec spec)
      : BulkJob(context, source_,
                {.entity = spec.entity, .doing = "applying", .changed = "dealt with", .ledger_counts = false}),
        spec_(std::move(spec)),
        source_(context, {spec_.source, spec_.filter.value_or(""), ""}) {}

 private:
  Task<Result<void>> prepare() override {
    feeds::OnChangeStore store(context_.tables, context_.clock, context_.random);
    auto found = co_await store.get(spec_.source, spec_.rule);
    if (found.failed_with(ErrorCode::kOnChangeNotFound)) co_return fail(ErrorCode::kJobInvalid, found.error().message);
    on_change_ = CO_TRY(std::move(found));
    const auto& definition = on_change_.definition;
    if (!definition.rule || definition.when == feeds::When::kLeaves) {
      co_return fail(ErrorCode::kJobInvalid,
                     spec_.rule + " makes no jobs for entities that exist: it has no job, or waits for some to leave.");
    }
    filter_ = CO_TRY(table_store::Filter::parse(definition.filter));
    rule_.emplace(context_.jobs, context_.queues, context_.clock, on_change_);
    co_return Result<void>{};
  }

  Task<Result<void>> work_on(std::vector<Entity> entities) override {
    std::vector<ChangeSet> changes;
    for (auto& entity : entities) {
      if (!filter_.matches(entity)) {
        pass_over();
        continue;
      }
      changes.push_back({1, {}, [this, entity = std::move(entity)] { return make_job(entity); }});
    }
    co_return co_await make(std::move(changes));
  }

  Task<Result<void>> make_job(const Entity& entity) {
    auto change = insertion_of(entity);
    change.cause = jobs::chain_of(context_.spec());
    CO_TRY(co_await rule_->submit(change, id_of(entity)));
    did(1);
    co_return Result<void>{};
  }

  jobs::ApplySpec spec_;
  TableSource source_;
  feeds::OnChange on_change_;
  table_store::Filter filter_;
  std::optional<RuleJobs> rule_;
};

}  // namespace

Task<Result<JobOutcome>> run(JobContext& context, jobs::ApplySpec spec) {
  return run_as<Applier>(context, std::move(spec));
}

}  // namespace tidemark::workers
