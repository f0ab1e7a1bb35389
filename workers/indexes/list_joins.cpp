// Joins the pieces of lists that have become small. A piece joins the one behind it, so a client that reads a group in
// the order of its rows meanwhile may meet a key twice, but misses none.
#include <algorithm>

#include "indexes/rows/list_piece.h"
#include "jobs/store/rows.h"
#include "workers/indexes/list_rows.h"

namespace tidemark::workers {
namespace {

using table_store::RowSearch;

/// The pieces whose neighbours are read in one call, and held in memory until they have been joined.
constexpr std::size_t kJoinsAtOnce = 32;

}  // namespace

std::vector<std::string> PieceChange::row_keys() const {
  std::vector<std::string> out;
  for (const auto& row : rows) out.push_back(row.row_key);
  return out;
}

/// Tells whether the piece has become small and may have neighbours.
bool ListRows::may_join(const PieceChange& change) const {
  const bool smaller = change.visited || std::ssize(change.piece.entries) < change.before.count;
  const bool alone = change.piece.bound == ListPiece{}.bound && !change.has_others_below;
  return !change.rows.empty() && smaller && !alone &&
         indexes::is_small(indexes::piece_size(change.piece, listing_.form), listing_.form);
}

Task<Result<std::size_t>> ListRows::join_neighbours(std::span<PieceChange> small) const {
  std::vector<RowSearch> searches;
  for (const auto& change : small.first(std::min(small.size(), kJoinsAtOnce))) {
    const auto& place = change.work->place;
    const auto& own = change.rows.front().row_key;
    // Pieces with rows of another group between them are not joined, because a lookup goes by the order of the rows.
    searches.push_back({place.partition_key, place.row_key(0), own, 0, true});
    searches.push_back({place.partition_key, own + jobs::kJustBehind, place.end()});
  }
  auto found = CO_TRY(co_await context_.tables.find_rows(table_, std::move(searches), {}));
  const auto count = found.rows.size() / 2;
  if (count == 0) co_return fail(error_for_log(ErrorCode::kInternalError, "a search without an answer"));
  std::vector<Neighbours> neighbours;
  neighbours.reserve(count);
  std::vector<Entity*> to_load;
  for (std::size_t i = 0; i < count; ++i) {
    small[i].as_of = found.as_of[2 * i];
    auto& [below, above] = neighbours.emplace_back(std::move(found.rows[2 * i]), std::move(found.rows[2 * i + 1]));
    leave_out_large(small[i], neighbours.back());
    for (auto* row : {&below, &above}) {
      if (*row) to_load.push_back(&**row);
    }
  }
  while (listing_.blobs && !to_load.empty()) {
    const auto loaded = CO_TRY(co_await listing_.blobs->load(to_load));
    to_load.erase(to_load.begin(), to_load.begin() + static_cast<std::ptrdiff_t>(loaded));
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (auto* row : {&neighbours[i].below, &neighbours[i].above}) {
      if (*row) join(small[i], std::move(**row));
    }
  }
  co_return count;
}

void ListRows::leave_out_large(const PieceChange& change, Neighbours& neighbours) const {
  auto& [below, above] = neighbours;
  for (auto* row : {&below, &above}) {
    if (*row && ((*row)->origin != mark() || !change.work->place.has((*row)->row_key))) row->reset();
  }
  auto size = indexes::piece_size(change.piece, listing_.form);
  const auto size_with = [&](const Entity& row) { return size + indexes::piece_size(row, listing_.form); };
  if (above && !indexes::is_small(size_with(*above), listing_.form)) above.reset();
  if (above) size = size_with(*above);
  const bool empty = change.piece.entries.empty();
  // Every group has a last piece. If it becomes empty, the piece below takes its place, however large that is.
  const bool last_is_empty = empty && change.piece.bound == ListPiece{}.bound;
  if (below && !last_is_empty && !indexes::is_small(size_with(*below), listing_.form)) below.reset();
  // Any other empty piece is just erased, unless its neighbours are joined with each other.
  if (empty && !last_is_empty && !(below && above)) neighbours = {};
}

/// Puts the entries of a neighbour into the piece. Of the two bounds, the higher one stays.
void ListRows::join(PieceChange& change, Entity row) const {
  auto piece = indexes::read_piece(row, listing_.form);
  if (!piece || (!listing_.of_job && piece->group != change.piece.group)) return;
  change.before.add(totals_of(piece->entries));
  if (piece->bound > change.piece.bound) std::swap(*piece, change.piece);
  std::ranges::move(change.piece.entries, std::back_inserter(piece->entries));
  change.piece.entries = std::move(piece->entries);
  change.rows.push_back(std::move(row));
}

std::vector<GroupWork> ListRows::small_pieces(const std::vector<ListPiece>& pieces,
                                              const std::vector<Entity>& rows) const {
  std::vector<GroupWork> works;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto place = place_of(pieces[i], rows[i]);
    const auto is_behind = [&](const Entity& row) {
      return row.partition_key == place.partition_key && place.has(row.row_key);
    };
    // The piece behind the last of these rows is not known here. It is looked up if that row is small by itself.
    const auto behind = std::ranges::find_if(rows.begin() + static_cast<std::ptrdiff_t>(i) + 1, rows.end(), is_behind);
    const auto size = indexes::piece_size(rows[i], listing_.form) +
                      (behind == rows.end() ? 0 : indexes::piece_size(*behind, listing_.form));
    if (pieces[i].bound == ListPiece{}.bound || !indexes::is_small(size, listing_.form)) continue;
    const auto is_its = [&](const GroupWork& work) {
      return work.place.partition_key == place.partition_key && work.place.row_prefix == place.row_prefix;
    };
    auto work = std::ranges::find_if(works, is_its);
    if (work == works.end()) {
      works.push_back({.place = std::move(place), .group = pieces[i].group});
      work = std::prev(works.end());
    }
    work->visits.push_back(rows[i].row_key);
  }
  return works;
}

}  // namespace tidemark::workers
