#include "jobs/kinds/adopt/adopt.h"
#include "jobs/kinds/archive/archive_text.h"
#include "jobs/kinds/archive/archived_object.h"
#include "jobs/kinds/archive/object_names.h"
#include "jobs/objects/file_objects.h"
#include "jobs/store/rows.h"
#include "workers/runtime/fail_points.h"
#include "workers/runtime/job_context.h"
#include "workers/runtime/skip_log.h"

namespace tidemark::workers {
namespace {

using jobs::FileTree;
using jobs::Ownership;

constexpr std::size_t kSlice = 1000;  // files
constexpr std::string_view kBroken = "broken";

/// One run of an adoption.
class Adoption {
 public:
  Adoption(JobContext& context, jobs::FileDirectory directory, bool take_over)
      : context_(context), directory_(directory), take_over_(take_over), files_(context.tables, std::move(directory)) {}
  Task<Result<JobOutcome>> run();

 private:
  using Found = FileTree::Found;
  Task<Result<void>> adopt();
  Task<Result<void>> walk(FileTree::Area area, std::function<Task<Result<void>>(Found)> handle);
  Task<Result<void>> put_back(Found found);
  Task<Result<void>> enter(Found found);
  /// Tells whether this table store knows the job that wrote it. If so, the rows decide whether it counts.
  Task<Result<bool>> is_known(std::string job);
  void skip(std::string_view reason, const std::string& path) { skips_.add(reason, path, ""); }
  Task<Result<void>> report(bool force);
  template <class Call>
  auto blocking(Call call) {
    return jobs::on(directory_.blocking, [tree = directory_.tree, call = std::move(call)] { return call(*tree); });
  }

  JobContext& context_;
  jobs::FileDirectory directory_;
  bool take_over_;
  jobs::FileObjects files_;
  bool ours_ = false;
  std::map<std::string, bool> known_;  // by job
  std::uint64_t entered_ = 0;
  SkipLog skips_;
  JobOutcome outcome_;
};

Task<Result<JobOutcome>> Adoption::run() {
  JobContext::Work work = [this](table_store::OperationLedger before) {
    entered_ = before.counter(kDone);
    return adopt();
  };
  const auto ledger = CO_TRY(co_await context_.complete(std::move(work)));
  outcome_.done = ledger.counter(kDone);
  co_return std::move(outcome_);
}

Task<Result<void>> Adoption::adopt() {
  jobs::FileOwner owner(context_.tables, directory_);
  const auto found = CO_TRY(co_await owner.look());
  if (found.needs_take_over() && !take_over_) co_return fail(ErrorCode::kJobInvalid, found.problem);
  ours_ = found.whose == Ownership::kOurs;
  CO_TRY(co_await jobs::ensure_table(context_.tables, std::string(jobs::kFileTable)));
  if (!ours_) {
    CO_TRY(co_await walk(FileTree::Area::kQuarantine, [this](Found file) { return put_back(std::move(file)); }));
  }
  CO_TRY(co_await walk(FileTree::Area::kArchive, [this](Found file) { return enter(std::move(file)); }));
  CO_TRY(context_.check());
  if (!ours_) {
    CO_TRY(co_await fail_points::kAdoptOwn.around(owner.take_over()));
  }
  outcome_.skipped = skips_.count();
  outcome_.skips = skips_.text();
  outcome_.total = entered_ + skips_.count();
  // The figures are in the record before the operation closes: they could not be counted again afterwards.
  co_return co_await report(true);
}

Task<Result<void>> Adoption::walk(FileTree::Area area, std::function<Task<Result<void>>(Found)> handle) {
  const std::shared_ptr<FileTree::Walk> files =
      CO_TRY(co_await blocking([area](const FileTree& tree) { return tree.walk(area); }));
  while (true) {
    auto slice = CO_TRY(co_await jobs::on(directory_.blocking, [files] { return files->next(kSlice); }));
    if (slice.empty()) co_return Result<void>{};
    for (auto& found : slice) {
      CO_TRY(context_.check());
      CO_TRY(co_await handle(std::move(found)));
    }
    CO_TRY(co_await report(false));
  }
}

Task<Result<void>> Adoption::put_back(Found found) {
  if (!jobs::parse_file_path(found.path)) co_return Result<void>{};
  CO_TRY(co_await blocking([path = std::move(found.path)](const FileTree& tree) { return tree.put_back(path); }));
  co_return Result<void>{};
}

Task<Result<bool>> Adoption::is_known(std::string job) {
  if (const auto known = known_.find(job); known != known_.end()) co_return known->second;
  const auto ledger = CO_TRY(co_await context_.tables.read_operation(job));
  co_return known_.emplace(std::move(job), ledger.epoch > 0).first->second;
}

Task<Result<void>> Adoption::enter(Found found) {
  auto name = jobs::parse_file_path(found.path);
  if (!name) co_return Result<void>{};
  if (ours_ && CO_TRY(co_await is_known(name->writer.job))) co_return Result<void>{};
  auto read =
      co_await blocking([path = found.path](const FileTree& tree) { return tree.read(path, jobs::kMaxFileBytes); });
  if (read.failed_with(ErrorCode::kCorruption)) {
    skip(kBroken, found.path);
    co_return Result<void>{};
  }
  auto bytes = CO_TRY(std::move(read));
  if (!bytes) co_return Result<void>{};  // a job has removed it meanwhile
  const auto archive = jobs::archive_of_object(name->object);
  const auto size = bytes->size();
  const auto entities = archive ? jobs::archived_in(*archive, name->object, {std::move(*bytes), name->version, {}})
                                : Result<std::optional<std::vector<table_store::Entity>>>();
  if (!entities || !entities->has_value()) {
    skip(entities ? kForeign : kBroken, found.path);
    co_return Result<void>{};
  }
  auto type = std::string(jobs::type_of_object(name->object));
  const auto outcome = CO_TRY(co_await fail_points::kAdoptEnter.around(
      files_.enter(std::move(*name), size, std::move(type), context_.fence(std::string(kDone)))));
  if (outcome == jobs::WriteOutcome::kApplied) ++entered_;
  co_return Result<void>{};
}

Task<Result<void>> Adoption::report(bool force) {
  jobs::RecordChange progress;
  progress.done = entered_;
  progress.skipped = skips_.count();
  progress.skips = skips_.text();
  progress.phase = "adopting";
  CO_TRY(co_await context_.report(std::move(progress), force));
  co_return Result<void>{};
}

}  // namespace

Task<Result<JobOutcome>> run(JobContext& context, jobs::AdoptSpec spec) {
  const auto* directory = jobs::find_directory(context.objects, spec.directory);
  if (directory == nullptr) co_return jobs::no_directory(spec.directory);
  co_return co_await run_as<Adoption>(context, *directory, spec.take_over);
}

}  // namespace tidemark::workers
