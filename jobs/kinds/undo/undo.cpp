#include "jobs/kinds/undo/undo.h"

#include "jobs/kinds/reach.h"
#include "jobs/spec/spec_members.h"
#include "jobs/store/end_steps.h"
#include "jobs/store/job_store.h"

namespace tidemark::jobs {
namespace {

constexpr int kMaxDepth = 8;

std::unexpected<Error> impossible(const std::string& job_id, std::string_view kind) {
  return fail(ErrorCode::kJobInvalid,
              "Job " + job_id + " is of kind '" + std::string(kind) + "', which cannot be undone.");
}

/// Returns the reach of the undo of a job that reached this; nothing if it cannot be undone.
std::optional<Reach> reversed(Reach done, const std::string& job_id) {
  Reach out;
  out.operation = job_id;
  out.writes_blobs = done.writes_blobs;
  if (done.moves()) {
    out.step = done.step == Step::kArchive ? Step::kRestore : Step::kArchive;
    out.from = std::move(done.to);
    out.to = std::move(done.from);
  } else if (done.step == Step::kCopy) {
    out.step = Step::kErase;
    out.from = std::move(done.to);
  } else if (done.step == Step::kSteps && done.operation.empty()) {
    out.step = Step::kSteps;
    out.tables = std::move(done.tables);
    out.accounts = std::move(done.accounts);
    out.writes_blobs = false;  // blobs of steps stay
  } else {
    return std::nullopt;
  }
  return out;
}

}  // namespace

void UndoSpec::members(SpecMembers& in) {
  if (in.text("job", job, true, {.meaning = "the job to take back"}) && !is_job_id(job))
    in.problem("job must be the id of a job");
}

Reach UndoSpec::reach() const { return {.undoes = job}; }

Task<Result<Reach>> resolve(JobStore& store, Reach reach) {
  std::vector<std::string> undone;  // the jobs on the way to the first that is no undo, including that one
  std::string kind;
  while (!reach.undoes.empty()) {
    const auto& id = undone.emplace_back(std::move(reach.undoes));
    if (undone.size() > kMaxDepth + 1) co_return fail(ErrorCode::kJobInvalid, "An undo goes back at most 8 jobs.");
    auto record = CO_TRY(co_await store.find(id));
    if (!record) co_return fail(ErrorCode::kJobNotFound, "There is no job " + id + " to undo.");
    if (!is_terminal(record->state)) {
      co_return fail(ErrorCode::kJobNotEnded, "Job " + id + " has not ended; cancel it or wait, then undo it.");
    }
    auto undone_spec = work_left_of(*record);
    if (!undone_spec) co_return impossible(id, record->kind);
    reach = reach_of(*undone_spec);
    kind = std::move(record->kind);
  }
  for (; !undone.empty(); undone.pop_back()) {
    auto back = reversed(std::move(reach), undone.back());
    if (!back) co_return impossible(undone.back(), kind);
    reach = std::move(*back);
    kind = "undo of a copy";
  }
  reach = seen_from(store.account(), std::move(reach));
  if ((reach.moves() || reach.keeps_key) && is_same(reach.from, reach.to)) {
    co_return invalid_job({"source and destination must be two tables, or in two accounts"});
  }
  co_return reach;
}

}  // namespace tidemark::jobs
