#include "jobs/kinds/archive/run/small_move.h"

namespace tidemark::workers {
namespace {

struct MoveOf {
  using Found = std::optional<table_store::Move>;
  static Found between(const std::string& source, const std::string& destination, const jobs::Selection& selection) {
    if (!selection.entity) return std::nullopt;
    table_store::Move move;
    move.source = source;
    move.destination = destination;
    move.partition_key = selection.entity->partition_key;
    move.row_key = selection.entity->row_key;
    return move;
  }
  Found operator()(const jobs::ArchiveSpec& spec) const {
    return spec.archive ? std::nullopt : between(spec.source, spec.destination, spec);
  }
  Found operator()(const jobs::UnarchiveSpec& spec) const {
    auto move = spec.archive ? std::nullopt : between(spec.source, spec.destination, spec);
    if (move) move->back = true;
    return move;
  }
  Found operator()(const jobs::DeleteSpec& spec) const { return between(spec.source, {}, spec); }
  Found operator()(const auto&) const { return std::nullopt; }
};

}  // namespace

std::optional<table_store::Move> small_move(const jobs::JobSpec& spec) {
  // What says nothing about the work itself; any other member asks for more than a move, and is not known here.
  jobs::JobSpec plain;
  plain.work = spec.work;
  plain.max_attempts = spec.max_attempts;
  plain.idempotency_key = spec.idempotency_key;
  plain.priority = spec.priority;
  plain.retry_base_ms = spec.retry_base_ms;
  plain.retry_cap_ms = spec.retry_cap_ms;
  if (plain != spec) return std::nullopt;
  return std::visit(MoveOf{}, spec.work);
}

}  // namespace tidemark::workers
