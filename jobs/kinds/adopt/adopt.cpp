#include "jobs/kinds/adopt/adopt.h"

#include "jobs/kinds/reach.h"
#include "jobs/objects/file_names.h"
#include "jobs/objects/file_owner.h"
#include "jobs/plan/plan.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {
namespace {

constexpr std::size_t kSlice = 1000;

}  // namespace

void AdoptSpec::members(SpecMembers& in) {
  const About about_directory{.meaning = "a directory of the workers' configuration", .pattern = kDirectoryPattern};
  if (in.text("directory", directory, true, about_directory) && !is_directory_name(directory)) {
    in.problem("directory must be a name of the worker's configuration, not a path");
  }
  in.flag("takeOver", take_over, {.meaning = "even if it belongs to another stack, which must not use it any more"});
}

Reach AdoptSpec::reach() const { return {}; }

Task<Result<void>> AdoptSpec::plan(PlanSources& sources, JobPlan& plan) const {
  const auto* known = find_directory(sources.access, directory);
  plan.complete = known != nullptr;
  if (known == nullptr) co_return Result<void>{};  // the workers may reach it
  const auto place = *known;
  const auto found = CO_TRY(co_await FileOwner(sources.tables, place).look());
  if (found.needs_take_over() && !take_over) plan.problems.push_back(found.problem);
  const std::shared_ptr<FileTree::Walk> walk =
      CO_TRY(co_await on(place.blocking, [tree = place.tree] { return tree->walk(FileTree::Area::kArchive); }));
  while (plan.keys < kPlannedKeys) {
    const auto files = CO_TRY(co_await on(place.blocking, [walk] { return walk->next(kSlice); }));
    if (files.empty()) co_return Result<void>{};
    for (const auto& file : files) {
      if (parse_file_path(file.path)) ++plan.keys;
    }
  }
  plan.complete = false;
  co_return Result<void>{};
}

}  // namespace tidemark::jobs
