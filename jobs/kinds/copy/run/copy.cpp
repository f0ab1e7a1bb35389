#include "jobs/kinds/copy/copy.h"

#include <map>

#include "common/base/encoding.h"
#include "jobs/plan/plan.h"
#include "jobs/spec/key_template.h"
#include "workers/runtime/fail_points.h"
#include "workers/runtime/pages.h"
#include "workers/runtime/run_as.h"
#include "workers/runtime/side_by_side.h"
#include "workers/runtime/skip_log.h"

namespace tidemark::workers {
namespace {

using nlohmann::json;
using table_store::Entity;
using table_store::Mutation;
using table_store::MutationKind;
using table_store::OutcomeKind;

constexpr std::string_view kNoKey = "a property of the key is missing, or the key is too long";
constexpr std::string_view kNewerThere = "a newer copy is there";
constexpr std::string_view kInTheWay = "another entity is in the way";

/// A copy to be made, and the original it comes from.
struct Target {
  Mutation mutation;
  std::string partition_key, row_key;  // of the original
  std::size_t bytes = 0;
};

/// One run of a copying job. Lives in run()'s frame.
class Copier {
 public:
  Copier(JobContext& context, jobs::CopySpec spec)
      : context_(context), spec_(std::move(spec)), pages_(context, {spec_.source, spec_.filter.value_or(""), ""}) {}

  Task<Result<JobOutcome>> run();

 private:
  using Partitions = std::map<std::string, std::vector<Target>>;
  Task<Result<void>> copy_one();
  Task<Result<void>> copy_all();
  Task<Result<void>> copy_page(std::vector<Entity> entities);
  Partitions targets_of(std::vector<Entity> entities);
  Task<Result<void>> write(std::string partition_key, std::vector<Target> group);
  std::vector<table_store::Property> projected(std::vector<table_store::Property> properties) const;
  [[nodiscard]] json checkpoint() const {
    return {{"continuation", continuation_}, {"done", done_}, {"skips", skips_.to_json()}};
  }
  Task<Result<void>> report(bool force);

  JobContext& context_;
  jobs::CopySpec spec_;
  Pages pages_;
  jobs::KeyTemplates templates_;
  std::string continuation_;
  std::uint64_t done_ = 0;
  SkipLog skips_;
  std::uint64_t page_done_ = 0;  // of the page at hand; counted when it is finished, so that a repeat counts once
  SkipLog page_skips_;
  std::uint64_t under_way_ = 0;  // copies of groups that are being written
};

Task<Result<JobOutcome>> Copier::run() {
  auto ledger = CO_TRY(co_await context_.open());
  // Closed: all was written and reported; only the end was not recorded.
  if (ledger.closed) co_return JobOutcome{};
  const auto& saved = context_.checkpoint();
  if (saved.is_object()) {
    continuation_ = saved.value("continuation", std::string());
    done_ = saved.value("done", std::uint64_t{0});
    skips_ = SkipLog::from_json(saved.value("skips", json::array()));
  }
  templates_ = CO_TRY(jobs::parse_key_templates(spec_.partition_key_template, spec_.row_key_template));
  CO_TRY(co_await require_table(context_, spec_.source, "source"));
  CO_TRY(co_await ensure_table(context_, spec_.destination));
  CO_TRY(co_await (spec_.entity ? copy_one() : copy_all()));
  // The figures are in the record before the operation closes: nobody could count them again afterwards.
  CO_TRY(co_await report(true));
  CO_TRY(co_await context_.close());
  JobOutcome outcome;
  outcome.done = done_;
  outcome.skipped = skips_.count();
  outcome.skips = skips_.text();
  co_return outcome;
}

Task<Result<void>> Copier::copy_one() {
  const auto& key = *spec_.entity;
  auto entity = CO_TRY(co_await context_.tables.get(spec_.source, key.partition_key, key.row_key));
  if (!entity.has_value()) {
    skips_.add("not found", key.partition_key, key.row_key);
    co_return Result<void>{};
  }
  std::vector<Entity> one;
  one.push_back(std::move(*entity));
  co_return co_await copy_page(std::move(one));
}

Task<Result<void>> Copier::copy_all() {
  CO_TRY(co_await pages_.begin(continuation_, done_ + skips_.count()));
  while (true) {
    CO_TRY(context_.check());
    auto page = CO_TRY(co_await pages_.read(continuation_));
    CO_TRY(co_await copy_page(std::move(page.entities)));
    fail_points::kCopyPageAfter.reach();
    continuation_ = std::move(page.continuation);
    if (continuation_.empty()) co_return Result<void>{};
    context_.save(checkpoint());
    CO_TRY(co_await report(false));
  }
}

Task<Result<void>> Copier::copy_page(std::vector<Entity> entities) {
  page_done_ = 0;
  page_skips_.clear();
  auto partitions = targets_of(std::move(entities));
  std::vector<std::pair<std::string, std::vector<Target>>> groups;
  for (auto& [partition_key, targets] : partitions) {
    std::size_t bytes = 0;
    bool first = true;
    for (auto& target : targets) {
      if (first || groups.back().second.size() == kGroupEntities || bytes + target.bytes > kGroupBytes) {
        groups.emplace_back(partition_key, std::vector<Target>());
        bytes = 0;
        first = false;
      }
      bytes += target.bytes;
      groups.back().second.push_back(std::move(target));
    }
  }
  CO_TRY(co_await side_by_side(context_.clock, groups.size(), [this, &groups](std::size_t number) {
    return write(std::move(groups[number].first), std::move(groups[number].second));
  }));
  done_ += page_done_;
  skips_.add(page_skips_);
  co_return Result<void>{};
}

Copier::Partitions Copier::targets_of(std::vector<Entity> entities) {
  const bool one_table = iequals_ascii(spec_.source, spec_.destination);
  Partitions out;
  for (auto& entity : entities) {
    if (one_table && entity.source_version) continue;
    auto key = apply_key_templates(templates_, entity);
    if (!key) {
      page_skips_.add(kNoKey, entity.partition_key, entity.row_key);
      continue;
    }
    Target target;
    target.bytes = jobs::entity_bytes(entity);
    target.mutation.kind = MutationKind::kInsertOrReplace;
    target.mutation.row_key = std::move(key->row_key);
    target.mutation.source_version = entity.version;
    target.mutation.lenient = true;
    target.mutation.properties = projected(std::move(entity.properties));
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
    page_skips_.add(kNewerThere, target.partition_key, target.row_key);
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
  std::vector<Place> places{{spec_.destination, partition_key}};
  auto admit_task = context_.admit(done_ + page_done_ + under_way_, group.size(), std::move(places));
  under_way_ += group.size();
  const auto permit = CO_TRY(co_await std::move(admit_task));
  CO_TRY(context_.check());
  std::vector<Mutation> mutations;
  for (auto& target : group) mutations.push_back(std::move(target.mutation));
  fail_points::kCopyWrite.before.reach();
  auto outcomes = co_await context_.tables.mutate(spec_.destination, std::move(partition_key), std::move(mutations),
                                                  context_.fence("written"));
  fail_points::kCopyWrite.after.reach();
  under_way_ -= group.size();
  if (!outcomes) co_return fail(std::move(outcomes.error()));
  if (outcomes->size() != group.size()) co_return fail(ErrorCode::kInternalError);
  for (std::size_t i = 0; i < group.size(); ++i) {
    const auto kind = (*outcomes)[i].kind;
    if (kind == OutcomeKind::kApplied || kind == OutcomeKind::kUnchanged) {
      ++page_done_;
    } else {
      page_skips_.add(kind == OutcomeKind::kConflict ? kInTheWay : kNewerThere, group[i].partition_key,
                      group[i].row_key);
    }
  }
  co_return Result<void>{};
}

Task<Result<void>> Copier::report(bool force) {
  JobProgress progress;
  progress.done = done_;
  progress.skipped = skips_.count();
  progress.skips = skips_.text();
  progress.phase = "copying";
  return pages_.report(std::move(progress), force);
}

}  // namespace

Task<Result<JobOutcome>> run(JobContext& context, jobs::CopySpec spec) {
  return run_as<Copier>(context, std::move(spec));
}

}  // namespace tidemark::workers
