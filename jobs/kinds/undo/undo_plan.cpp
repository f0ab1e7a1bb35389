#include "jobs/kinds/undo/undo_plan.h"

namespace tidemark::jobs {
namespace {

constexpr int kMaxDepth = 8;

std::unexpected<Error> impossible(const std::string& job_id, std::string_view kind) {
  return fail(ErrorCode::kJobInvalid,
              "Job " + job_id + " is of kind '" + std::string(kind) + "', which cannot be undone.");
}

/// How a plan is undone itself.
Result<UndoPlan> reversed(UndoPlan plan, const std::string& job_id) {
  if (plan.step == UndoStep::kErase) return impossible(job_id, "undo of a copy");
  plan.step = plan.step == UndoStep::kRestore ? UndoStep::kArchive : UndoStep::kRestore;
  std::swap(plan.source, plan.destination);
  plan.operation = job_id;
  return plan;
}

}  // namespace

Task<Result<UndoPlan>> plan_undo(JobStore& store, std::string job_id) {
  std::vector<std::string> undone;  // undo jobs on the way to the first that is none
  auto id = std::move(job_id);
  while (true) {
    auto record = CO_TRY(co_await store.find(id));
    if (!record.has_value()) co_return fail(ErrorCode::kJobNotFound, "There is no job " + id + " to undo.");
    if (!is_terminal(record->state)) {
      co_return fail(ErrorCode::kJobNotEnded, "Job " + id + " has not ended; cancel it or wait, then undo it.");
    }
    auto spec = parse_stored_spec(record->spec);
    if (!spec) co_return impossible(id, record->kind);
    UndoPlan plan;
    plan.operation = id;
    if (const auto* undo = std::get_if<UndoSpec>(&spec->work)) {
      undone.push_back(id);
      if (undone.size() > kMaxDepth) co_return fail(ErrorCode::kJobInvalid, "An undo goes back at most 8 jobs.");
      id = undo->job;
      continue;
    }
    if (const auto* archive = std::get_if<ArchiveSpec>(&spec->work)) {
      plan.step = UndoStep::kRestore;
      plan.source = archive->destination;
      plan.destination = archive->source;
      plan.archive = archive->archive;
    } else if (const auto* unarchive = std::get_if<UnarchiveSpec>(&spec->work)) {
      plan.step = UndoStep::kArchive;
      plan.source = unarchive->destination;
      plan.destination = unarchive->source;
      plan.archive = unarchive->archive;
    } else if (const auto* copy = std::get_if<CopySpec>(&spec->work)) {
      plan.step = UndoStep::kErase;
      plan.source = copy->destination;
    } else {
      co_return impossible(id, record->kind);
    }
    for (auto it = undone.rbegin(); it != undone.rend(); ++it) {
      plan = CO_TRY(reversed(std::move(plan), *it));
    }
    co_return plan;
  }
}

}  // namespace tidemark::jobs
