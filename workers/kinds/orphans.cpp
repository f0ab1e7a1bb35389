#include "jobs/kinds/orphans/orphans.h"

#include <map>

#include "jobs/kinds/discard/blob_pointer.h"
#include "jobs/objects/blob_objects.h"
#include "workers/runtime/fail_points.h"
#include "workers/runtime/job_context.h"

namespace tidemark::workers {
namespace {

using blob_store::Stamp;
using nlohmann::json;
using table_store::WriteOutcome;

constexpr std::size_t kBlobsAtOnce = 20'000;
constexpr std::size_t kSamples = 20;
constexpr std::string_view kRemoved = "removed";

using Blobs = std::map<std::string, Stamp>;

/// One run of the job.
class OrphanSearch {
 public:
  OrphanSearch(JobContext& context, jobs::OrphansSpec spec)
      : context_(context), spec_(std::move(spec)), blobs_(*context.objects.blobs), objects_(blobs_, spec_.container) {}

  Task<Result<JobOutcome>> run();

 private:
  Task<Result<void>> search();
  /// Returns some old blobs, beginning at from_, which it moves forward.
  Task<Result<Blobs>> next_blobs();
  /// Removes the blobs from the list that an entity points to.
  Task<Result<void>> strike_out_kept(Blobs& blobs);
  Task<Result<void>> settle(Blobs orphans);
  [[nodiscard]] json checkpoint() const {
    return {{"from", from_}, {"ended", ended_}, {"found", found_}, {"samples", samples_}};
  }
  Task<Result<JobOutcome>> outcome();

  JobContext& context_;
  jobs::OrphansSpec spec_;
  blob_store::BlobClient& blobs_;
  jobs::BlobObjects objects_;
  std::string from_;
  bool ended_ = false;  // from_ is behind the last blob
  std::uint64_t found_ = 0;
  json samples_ = json::array();
};

Task<Result<JobOutcome>> OrphanSearch::run() {
  if (const auto& saved = context_.checkpoint(); saved.is_object()) {
    from_ = saved.value("from", std::string());
    ended_ = saved.value("ended", false);
    found_ = saved.value("found", std::uint64_t{0});
    samples_ = saved.value("samples", json::array());
  }
  const auto closed = CO_TRY(co_await objects_.open(context_.fence({})));
  JobContext::Work work = [&](const table_store::OperationLedger&) -> Task<Result<void>> {
    if (closed) co_return Result<void>{};  // an earlier delivery came this far
    CO_TRY(co_await search());
    co_return co_await objects_.close(context_.fence({}));
  };
  CO_TRY(co_await context_.complete(std::move(work)));
  co_return co_await outcome();
}

Task<Result<void>> OrphanSearch::search() {
  while (!ended_) {
    CO_TRY(context_.check());
    auto blobs = CO_TRY(co_await next_blobs());
    if (!blobs.empty()) CO_TRY(co_await strike_out_kept(blobs));
    CO_TRY(co_await settle(std::move(blobs)));
    ended_ = from_.empty();
    CO_TRY(co_await fail_points::kOrphansPage.around(context_.save_now(checkpoint())));
    jobs::RecordChange progress;
    progress.done = found_;
    progress.phase = "searching";
    CO_TRY(co_await context_.report(std::move(progress), false));
  }
  co_return Result<void>{};
}

Task<Result<Blobs>> OrphanSearch::next_blobs() {
  const auto before = context_.record().submitted_at - std::chrono::hours(spec_.grace_hours);
  Blobs found;
  do {
    auto page = co_await blobs_.list_older(spec_.container, spec_.prefix, from_, before);
    if (page.failed_with(ErrorCode::kContainerNotFound)) CO_TRY(co_await objects_.require());
    auto older = CO_TRY(std::move(page));
    for (auto& blob : older.blobs) found.emplace(std::move(blob.name), blob.version);
    from_ = std::move(older.next);
  } while (!from_.empty() && found.size() < kBlobsAtOnce);
  co_return found;
}

Task<Result<void>> OrphanSearch::strike_out_kept(Blobs& blobs) {
  table_store::QueryRequest request;
  request.table = spec_.source;
  do {
    CO_TRY(context_.check());
    auto page = CO_TRY(co_await context_.tables.query(request));
    for (const auto& entity : page.entities) {
      if (const auto name = jobs::blob_pointed_at(entity, spec_.property, spec_.container)) blobs.erase(*name);
    }
    request.continuation = std::move(page.continuation);
  } while (!request.continuation.empty() && !blobs.empty());
  co_return Result<void>{};
}

Task<Result<void>> OrphanSearch::settle(Blobs orphans) {
  for (auto& [name, version] : orphans) {
    if (samples_.size() < kSamples) samples_.push_back(name);
    if (!spec_.remove) {
      ++found_;
      continue;
    }
    CO_TRY(context_.check());
    const auto erased = CO_TRY(co_await fail_points::kOrphansErase.around(
        blobs_.discard(spec_.container, name, version, context_.fence(std::string(kRemoved)))));
    if (erased == WriteOutcome::kApplied || erased == WriteOutcome::kConflict) ++found_;
  }
  co_return Result<void>{};
}

Task<Result<JobOutcome>> OrphanSearch::outcome() {
  const auto ledger = CO_TRY(co_await blobs_.read_operation(context_.job_id()));
  JobOutcome out;
  out.done = spec_.remove ? ledger.counter(kRemoved) : found_;
  nlohmann::ordered_json result;
  result["orphans"] = std::max(found_, ledger.counter(kRemoved));
  result["removed"] = ledger.counter(kRemoved);
  result["samples"] = samples_;
  out.result = result.dump(-1, ' ', false, json::error_handler_t::replace);
  co_return out;
}

}  // namespace

Task<Result<JobOutcome>> run(JobContext& context, jobs::OrphansSpec spec) {
  if (context.objects.blobs == nullptr) co_return fail(ErrorCode::kJobInvalid, "This worker reaches no blob store.");
  co_return co_await run_as<OrphanSearch>(context, std::move(spec));
}

}  // namespace tidemark::workers
