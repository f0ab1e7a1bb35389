#include "jobs/kinds/copy/copy.h"

#include <map>

#include "common/base/encoding.h"
#include "jobs/kinds/reach.h"
#include "jobs/plan/plan.h"
#include "jobs/spec/key_template.h"
#include "table_store/model/limits.h"
#include "workers/runtime/bulk_job.h"
#include "workers/runtime/fail_points.h"

namespace tidemark::workers {
namespace {

using table_store::Mutation;
using table_store::WriteOutcome;

/// A copy that the job will make, and its original.
struct Target {
  Mutation mutation;
  std::string partition_key, row_key;  // of the original
  std::size_t bytes = 0;
};

/// One run of a copying job.
class Copier final : public BulkJob {
 public:
  Copier(JobContext& context, jobs::CopySpec spec)
      : BulkJob(context, source_,
                {.entity = spec.entity, .doing = "copying", .changed = "copied", .ledger_counts = false}),
        spec_(std::move(spec)),
        reach_(jobs::seen_from(context.jobs.account(), spec_.reach())),
        source_(context, {spec_.source, spec_.filter.value_or(""), "", {}, reach_.from.account}) {}

 private:
  using Partitions = std::map<std::string, std::vector<Target>>;
  Task<Result<void>> prepare() override;
  Task<Result<void>> work_on(std::vector<Entity> entities) override;
  Partitions targets_of(std::vector<Entity> entities);
  Task<Result<void>> write(std::string partition_key, std::vector<Target> group);
  std::vector<table_store::Property> projected(std::vector<table_store::Property> properties) const;

  jobs::CopySpec spec_;
  jobs::Reach reach_;
  TableSource source_;
  jobs::KeyTemplates templates_;
};

/// Groups the targets so that each group fits into one transaction.
std::vector<std::vector<Target>> groups_of(std::vector<Target> targets) {
  std::vector<std::vector<Target>> groups;
  std::size_t bytes = 0;
  for (auto& target : targets) {
    if (groups.empty() || groups.back().size() == kGroupEntities || bytes + target.bytes > kGroupBytes) {
      groups.emplace_back();
      bytes = 0;
    }
    bytes += target.bytes;
    groups.back().push_back(std::move(target));
  }
  return groups;
}

Task<Result<void>> Copier::prepare() {
  templates_ = CO_TRY(jobs::parse_key_templates(spec_.partition_key_template, spec_.row_key_template));
  co_return co_await jobs::ensure_table(context_.ledger(), spec_.destination);
}

Task<Result<void>> Copier::work_on(std::vector<Entity> entities) {
  std::vector<ChangeSet> changes;
  for (auto& [partition_key, targets] : targets_of(std::move(entities))) {
    for (auto& group : groups_of(std::move(targets))) {
      changes.push_back({group.size(),
                         {{spec_.destination, partition_key}},
                         [this, partition_key, group = std::move(group)]() mutable {
                           return write(partition_key, std::move(group));
                         }});
    }
  }
  CO_TRY(co_await make(std::move(changes)));
  fail_points::kCopyPageAfter.reach();
  co_return Result<void>{};
}

Copier::Partitions Copier::targets_of(std::vector<Entity> entities) {
  const bool one_table = jobs::is_same(reach_.from, reach_.to);
  Partitions out;
  for (auto& entity : entities) {
    if (one_table && entity.is_copy()) {
      pass_over();
      continue;
    }
    auto key = apply_key_templates(templates_, entity);
    if (!key) {
      skip(kNoKey, entity);
      continue;
    }
    Target target;
    target.bytes = jobs::entity_bytes(entity);
    auto properties = projected(std::move(entity.properties));
    if (!table_store::check_entity_size(key->partition_key, key->row_key, properties)) {
      skip(kTooLarge, entity);
      continue;
    }
    target.mutation = jobs::copy_of(std::move(key->row_key), entity.version, std::move(properties));
    target.partition_key = std::move(entity.partition_key);
    target.row_key = std::move(entity.row_key);
    auto& targets = out[key->partition_key];
    const auto same = std::find_if(targets.begin(), targets.end(), [&](const Target& other) {
      return other.mutation.row_key == target.mutation.row_key;
    });
    if (same == targets.end()) {
      targets.push_back(std::move(target));
      continue;
    }
    if (*same->mutation.source_version < *target.mutation.source_version) std::swap(*same, target);
    skip(kNewerCopy, target.partition_key, target.row_key);
  }
  return out;
}

std::vector<table_store::Property> Copier::projected(std::vector<table_store::Property> properties) const {
  if (spec_.properties.empty()) return properties;
  std::erase_if(properties, [&](const table_store::Property& property) {
    return std::find(spec_.properties.begin(), spec_.properties.end(), property.name) == spec_.properties.end();
  });
  return properties;
}

Task<Result<void>> Copier::write(std::string partition_key, std::vector<Target> group) {
  std::vector<Mutation> mutations;
  for (auto& target : group) mutations.push_back(std::move(target.mutation));
  const auto outcomes = CO_TRY(co_await fail_points::kCopyWrite.around(context_.ledger().mutate(
      spec_.destination, std::move(partition_key), std::move(mutations), context_.fence(std::string(kWritten)))));
  if (outcomes.size() != group.size()) co_return fail(ErrorCode::kInternalError);
  for (std::size_t i = 0; i < group.size(); ++i) {
    const auto kind = outcomes[i].kind;
    if (kind == WriteOutcome::kApplied || kind == WriteOutcome::kUnchanged) {
      did(1);
    } else {
      skip(kind == WriteOutcome::kConflict ? kInTheWay : kNewerCopy, group[i].partition_key, group[i].row_key);
    }
  }
  co_return Result<void>{};
}

}  // namespace

Task<Result<JobOutcome>> run(JobContext& context, jobs::CopySpec spec) {
  return run_as<Copier>(context, std::move(spec));
}

}  // namespace tidemark::workers
