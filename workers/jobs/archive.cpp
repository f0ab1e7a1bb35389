#include "workers/jobs/archive.h"

#include "workers/jobs/mover.h"

namespace tidemark::workers {
namespace {

template <class Spec>
MoveSpec move_of(Spec spec, bool back) {
  MoveSpec move;
  static_cast<jobs::Selection&>(move) = static_cast<jobs::Selection&>(spec);
  move.source = std::move(spec.source);
  move.destination = std::move(spec.destination);
  move.archive = std::move(spec.archive);
  move.back = back;
  return move;
}

template <class Spec>
std::optional<table_store::Move> single_move_of(const jobs::JobWork& work, bool back) {
  const auto* spec = std::get_if<Spec>(&work);
  if (spec == nullptr || !spec->entity || spec->archive) return std::nullopt;
  table_store::Move move;
  move.source = spec->source;
  move.destination = spec->destination;
  move.partition_key = spec->entity->partition_key;
  move.row_key = spec->entity->row_key;
  move.back = back;
  return move;
}

}  // namespace

std::optional<table_store::Move> move_at_once(const jobs::JobSpec& spec) {
  // What says nothing about the work itself; any other member asks for more than a move, and is not known here.
  jobs::JobSpec plain;
  plain.work = spec.work;
  plain.max_attempts = spec.max_attempts;
  plain.idempotency_key = spec.idempotency_key;
  plain.priority = spec.priority;
  plain.retry_base_ms = spec.retry_base_ms;
  plain.retry_cap_ms = spec.retry_cap_ms;
  if (plain != spec) return std::nullopt;
  auto move = single_move_of<jobs::ArchiveSpec>(spec.work, false);
  return move ? move : single_move_of<jobs::UnarchiveSpec>(spec.work, true);
}

Task<Result<JobOutcome>> run_archive(JobContext& context, jobs::ArchiveSpec spec) {
  return run_move(context, move_of(std::move(spec), false));
}

Task<Result<JobOutcome>> run_unarchive(JobContext& context, jobs::UnarchiveSpec spec) {
  return run_move(context, move_of(std::move(spec), true));
}

}  // namespace tidemark::workers
