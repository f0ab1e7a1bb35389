#include "workers/indexes/list_rows.h"

#include "jobs/spec/key_template.h"
#include "jobs/store/rows.h"
#include "table_store/model/group_text.h"
#include "table_store/model/limits.h"
#include "workers/indexes/row_writer.h"

namespace tidemark::workers {
namespace {

using indexes::ListsKind;
using indexes::SummaryKind;
using table_store::RowSearch;
using table_store::WriteOutcome;

/// The searches for one group: its piece, a piece below, and its summary.
constexpr std::size_t kMostSearchesOfEach = 3;
constexpr std::size_t kGroupsInARound = table_store::kMaxSearches / kMostSearchesOfEach;
/// The keys that one transaction adds to a piece. All parts into which the piece is divided must fit into the
/// transaction, and a call has several transactions.
constexpr std::size_t kMostAddedAtOnce = 512UL << 10;
constexpr std::size_t kBesideKeys = 8;  // bytes that an entry of a list has beside its keys

/// Puts the rows of the pieces into the table of indexes, and the keys into blobs.
void put_into_blobs(const IndexRowsContext& context, const ListsKind& lists, Listing& listing) {
  const auto own = indexes::lists_of(context.index.id);
  listing.table = std::string(indexes::kIndexTable);
  listing.row_filter = "PartitionKey ge '" + own + " ' and PartitionKey lt '" + own + "!'";
  listing.form = indexes::kBlobListForm;
  listing.blobs = std::make_shared<BlobPieces>(context, lists);
  listing.place_of = [id = context.index.id](const std::string& group, const std::string&) {
    return indexes::group_in_blobs(id, group);
  };
}

}  // namespace

/// Returns the place of the piece that was read from this row. A job's row may lack the value.
GroupPlace ListRows::place_of(const ListPiece& piece, const Entity& row) const {
  if (!listing_.of_job) return place_of(piece.group, row.partition_key);
  auto place = indexes::group_of_value("");
  place.partition_key = row.partition_key;
  return place;
}

ListEntry ListRows::entry_of(const Entity& entity) const {
  ListEntry entry{entity.partition_key, entity.row_key};
  const auto* value = listing_.sum_of.empty() ? nullptr : entity.find(listing_.sum_of);
  if (value == nullptr) return entry;
  if (const auto* small = std::get_if<std::int32_t>(value)) entry.value = std::int64_t{*small};
  if (const auto* whole = std::get_if<std::int64_t>(value)) entry.value = *whole;
  if (const auto* real = std::get_if<double>(value)) entry.value = *real;
  return entry;
}

Task<Result<Wrong>> ListRows::reconcile(std::vector<ChangedEntity> changed) {
  Works works;
  for (const auto& entity : changed) {
    for (const auto& before : states_before(entity)) {
      const auto group = group_of(before);
      if (group) std::ignore = works.want(place_of(*group, entity.partition_key), *group, entry_of(before), false);
    }
    const auto group = entity.now ? group_of(*entity.now) : std::nullopt;
    if (group) std::ignore = works.want(place_of(*group, entity.partition_key), *group, entry_of(*entity.now), true);
  }
  return make(works.take());
}

class ListRows::Keys final : public Gathering {
 public:
  explicit Keys(ListRows& rows) : rows_(rows) {}
  std::size_t add(Entity entity) override {
    const auto group = rows_.group_of(entity);
    return group ? works_.want(rows_.place_of(*group, entity.partition_key), *group, rows_.entry_of(entity), true) : 0;
  }
  Task<Result<Wrong>> reconcile() override { return rows_.make(works_.take()); }
  Task<Result<Wrong>> compare() override { return reconcile(); }

 private:
  ListRows& rows_;
  Works works_;
};

std::unique_ptr<Gathering> ListRows::gather() { return std::make_unique<Keys>(*this); }

Task<Result<void>> ListRows::begin() {
  if (listing_.blobs) CO_TRY(co_await listing_.blobs->begin());
  co_return Result<void>{};
}

Task<Result<void>> ListRows::end() {
  if (listing_.blobs) CO_TRY(co_await listing_.blobs->end());
  co_return Result<void>{};
}

Task<Result<Wrong>> ListRows::make(std::vector<GroupWork> works) {
  Wrong changed;
  while (true) {
    std::vector<GroupWork*> round;
    for (auto& work : works) {
      if (!work.done() && round.size() < kGroupsInARound) round.push_back(&work);
    }
    if (round.empty()) co_return changed;
    add(CO_TRY(co_await make_round(std::move(round))), changed);
  }
}

std::vector<RowSearch> ListRows::searches_for(const std::vector<GroupWork*>& works, bool looks_below) const {
  std::vector<RowSearch> searches;
  for (const auto* work : works) {
    searches.push_back(work->search());
    if (looks_below) searches.push_back(work->search_below());
    if (!sums_) continue;
    const std::string head(indexes::kSummaryRow);
    searches.push_back({work->place.partition_key, head, head + jobs::kJustBehind});
  }
  return searches;
}

Task<Result<Wrong>> ListRows::make_round(std::vector<GroupWork*> works) {
  const auto may_join_some = [](const GroupWork* work) { return work->removes || !work->visits.empty(); };
  const bool looks_below = unique_ || std::ranges::any_of(works, may_join_some);
  auto searches = searches_for(works, looks_below);
  const auto searches_of_each = searches.size() / works.size();
  auto answer = co_await context_.tables.find_rows(table_, searches, {});
  if (answer.failed_with(ErrorCode::kTableNotFound) && in_source()) {
    // The table was dropped, with its entities, and the log will say so next.
    for (auto* work : works) work->give_up();
    co_return Wrong{};
  }
  if (answer.failed_with(ErrorCode::kTableNotFound)) {
    CO_TRY(co_await jobs::ensure_table(context_.tables, table_));
    answer = co_await context_.tables.find_rows(table_, std::move(searches), {});
  }
  auto found = CO_TRY(std::move(answer));
  if (listing_.blobs) CO_TRY(co_await load(found.rows, searches_of_each));
  std::vector<PieceChange> changes, small;
  std::vector<PartitionMutations> groups;
  std::vector<SeenPiece> emptied;
  const auto add_change = [&](PieceChange change) -> Task<Result<void>> {
    groups.push_back(CO_TRY(co_await mutations_of(change)));
    let_go(change);
    changes.push_back(std::move(change));
    co_return Result<void>{};
  };
  // The answer may be cut short; the rest is asked for in the next round.
  for (std::size_t i = 0; i < works.size() && (i + 1) * searches_of_each <= found.rows.size(); ++i) {
    const auto at = i * searches_of_each;
    auto change = begin_piece(*works[i], std::move(found.rows[at]));
    if (!change) continue;
    change->as_of = found.as_of[at];
    change->has_others_below = looks_below && found.rows[at + 1].has_value();
    if (sums_) change->summary = std::move(found.rows[at + searches_of_each - 1]);
    const bool nothing_left = unique_ && change->piece.entries.empty() && !change->shares();
    if (nothing_left) emptied.push_back({works[i]->place, works[i]->group, false, true});
    if (may_join(*change)) {
      small.push_back(std::move(*change));
    } else if (!change->changed.empty()) {
      CO_TRY(co_await add_change(std::move(*change)));
    }
  }
  for (std::span<PieceChange> left = small; !left.empty();) {
    const auto joined = CO_TRY(co_await join_neighbours(left));
    for (auto& change : left.first(joined)) {
      if (!change.changed.empty() || change.rows.size() > 1) CO_TRY(co_await add_change(std::move(change)));
    }
    left = left.subspan(joined);
  }
  // The notes come first: if the owner dies before the pieces are written, the next one looks at the groups again.
  if (unique_) CO_TRY(co_await note_violations(changes));
  // An owner that died may have noted a violation of entities that are gone since.
  CO_TRY(co_await check_violations(std::move(emptied)));
  const auto outcomes = CO_TRY(co_await write(groups, changes));
  Wrong changed;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    for (std::size_t m = 0; m < outcomes[i].size(); ++m) {
      if (outcomes[i][m].kind != WriteOutcome::kConflict) continue;
      in_the_way_.add(table_, groups[i].partition_key, groups[i].mutations[m].row_key);
      in_the_way_.entities += changes[i].changed.size();
    }
    add(std::move(changes[i].changed), changed);
  }
  co_return changed;
}

/// Frees the contents that are not needed any more: a piece takes many times its size in memory, and a round has many.
void ListRows::let_go(PieceChange& change) const {
  if (!unique_) change.piece.entries = std::vector<ListEntry>();
  if (listing_.blobs) return;
  for (auto& row : change.rows) row.properties = std::vector<table_store::Property>();
}

GroupTotals ListRows::totals_of(const std::vector<ListEntry>& entries) const {
  if (sums_) return indexes::totals_of(entries);
  GroupTotals totals;
  totals.count = std::ssize(entries);
  return totals;
}

Task<Result<void>> ListRows::load(std::vector<std::optional<Entity>>& rows, std::size_t searches_of_each) const {
  std::vector<Entity*> all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool changes = i % searches_of_each == 0 && rows[i] && rows[i]->origin == mark();
    all.push_back(changes ? &*rows[i] : nullptr);
  }
  rows.resize(CO_TRY(co_await listing_.blobs->load(std::move(all))));
  co_return Result<void>{};
}

Task<Result<std::vector<Outcomes>>> ListRows::write(std::vector<PartitionMutations>& groups,
                                                    const std::vector<PieceChange>& changes) {
  if (!listing_.blobs) co_return co_await write_groups(context_.writing(), groups);
  if (groups.empty()) co_return std::vector<Outcomes>{};
  std::vector<const Entity*> replaced;
  for (const auto& change : changes) {
    for (const auto& row : change.rows) replaced.push_back(&row);
  }
  co_return co_await listing_.blobs->write(groups, std::move(replaced));
}

/// Makes those of the group's changes that belong to this piece. Returns nothing if the row is not one of the group's.
std::optional<PieceChange> ListRows::begin_piece(GroupWork& work, std::optional<Entity> row) const {
  const bool visited = !work.visits.empty();
  if (visited) work.visits.erase(work.visits.begin());
  if (row && (row->origin != mark() || !work.place.has(row->row_key))) {
    if (!visited) work.search_from = row->row_key + jobs::kJustBehind;
    return std::nullopt;
  }
  PieceChange change;
  change.work = &work;
  change.visited = visited;
  change.piece.group = work.group;
  if (row) {
    // The next scrub writes the keys of a piece that cannot be read, or is another group's, like missing keys.
    change.piece.bound = indexes::bound_of(row->row_key, listing_.form).value_or(change.piece.bound);
    auto piece = indexes::read_piece(*row, listing_.form);
    if (piece && (listing_.of_job || piece->group == work.group)) change.piece.entries = std::move(piece->entries);
    change.rows.push_back(std::move(*row));
  }
  change.before = totals_of(change.piece.entries);
  if (visited) return change;
  work.search_from.clear();
  const auto first = work.next;
  std::size_t bytes = 0;
  while (!work.done() && work.wanted[work.next].entry.hash() <= change.piece.bound && bytes < kMostAddedAtOnce) {
    const auto& entry = work.wanted[work.next++].entry;
    bytes += entry.partition_key.size() + entry.row_key.size() + kBesideKeys;
  }
  change.changed = apply(change.piece, work.wanted, first, work.next);
  return change;
}

Mutation ListRows::put(std::string row_key, Version as_of, std::vector<table_store::Property> properties) const {
  auto mutation = jobs::copy_of(std::move(row_key), as_of, std::move(properties));
  mutation.origin = mark();
  return mutation;
}

Mutation ListRows::erasure(std::string row_key) const {
  auto mutation = jobs::erasure_of(std::move(row_key), {});
  mutation.origin = mark();
  return mutation;
}

/// Returns the changes of rows as one transaction, so a client that reads the group in one snapshot finds each key
/// once.
Task<Result<PartitionMutations>> ListRows::mutations_of(const PieceChange& change) const {
  const auto& place = change.work->place;
  PartitionMutations out{table_, place.partition_key, {}};
  auto gone = change.row_keys();
  for (auto& row : indexes::piece_rows(change.piece, listing_.form)) {
    if (listing_.of_job) row.properties.push_back({"SourceVersion", change.as_of});
    out.mutations.push_back(put(place.row_key(row.bound), change.as_of, std::move(row.properties)));
    std::erase(gone, out.mutations.back().row_key);
  }
  for (auto& row_key : gone) out.mutations.push_back(erasure(std::move(row_key)));
  if (sums_) CO_TRY(co_await sum_up(change, out));
  co_return out;
}

Task<Result<void>> ListRows::sum_up(const PieceChange& change, PartitionMutations& out) const {
  const auto after = indexes::totals_of(change.piece.entries);
  auto read = change.summary ? indexes::read_summary(*change.summary) : GroupTotals{};
  const bool alone = read && read->count == change.before.count;  // the whole group is in this piece
  GroupTotals totals;                                             // of the group's other pieces
  if (!alone && (!read || indexes::loses_track(*read, change.before, after))) {
    totals = CO_TRY(co_await other_pieces(change.work->place, change.row_keys())).totals;
  } else if (!alone) {
    totals = *read;
    totals.subtract(change.before);
  }
  totals.add(after);
  const std::string head(indexes::kSummaryRow);
  if (totals.count > 0) {
    out.mutations.push_back(put(head, change.as_of, indexes::summary_properties(change.work->group, totals)));
  } else {
    out.mutations.push_back(erasure(head));
  }
  co_return Result<void>{};
}

Task<Result<void>> ListRows::erase(std::vector<Entity> rows) {
  if (listing_.blobs) {
    std::vector<PartitionMutations> groups;
    std::vector<const Entity*> replaced;
    for (const auto& row : rows) {
      groups.push_back({table_, row.partition_key, {erasure(row.row_key)}});
      replaced.push_back(&row);
    }
    CO_TRY(co_await listing_.blobs->write(std::move(groups), std::move(replaced)));
    co_return Result<void>{};
  }
  std::vector<RowChange> erasures;
  for (auto& row : rows) erasures.push_back({row.partition_key, erasure(row.row_key)});
  CO_TRY(co_await write_rows(context_.writing(), table_, erasures));
  co_return Result<void>{};
}

Result<std::unique_ptr<IndexRows>> make_list_rows(IndexRowsContext context, SourceFilter filter) {
  const auto* lists = std::get_if<ListsKind>(&context.index.definition.kind);
  const bool in_blobs = lists != nullptr && lists->where == ListsKind::Where::kBlobs;
  if (in_blobs && context.blobs == nullptr) {
    return fail(ErrorCode::kIndexInvalid, "No containers can be reached from here.");
  }
  Listing listing;
  std::vector<std::string> by;
  if (lists != nullptr) {
    by = lists->by;
    listing.unique = lists->unique;
    listing.tells = lists->on_violation.has_value();
    listing.in_partition = lists->where == ListsKind::Where::kPartition;
  } else {
    const auto& summary = std::get<SummaryKind>(context.index.definition.kind);
    by = summary.by;
    listing.sums = true;
    listing.sum_of = summary.of;
  }
  listing.table = context.index.definition.destination();
  listing.group_of = [by, admitted = std::make_shared<const SourceFilter>(std::move(filter))](const Entity& entity) {
    if (!admitted->admits(entity)) return std::optional<std::string>();
    return table_store::group_of(by, entity.partition_key, entity.row_key, entity.properties);
  };
  listing.place_of = [in_partition = listing.in_partition, name = context.index.name](
                         const std::string& group, const std::string& partition_key) {
    return in_partition ? indexes::group_in_partition(name, partition_key, group) : indexes::group_across(group);
  };
  if (in_blobs) put_into_blobs(context, *lists, listing);
  return make_listing(context, std::move(listing));
}

std::unique_ptr<IndexRows> make_listing(IndexRowsContext context, Listing listing) {
  return std::make_unique<ListRows>(context, std::move(listing));
}

std::unique_ptr<IndexRows> make_job_rows(IndexRowsContext context) {
  const auto& lists = std::get<ListsKind>(context.index.definition.kind);
  Listing listing;
  listing.table = lists.destination;
  listing.form = indexes::kIndexJobForm;
  listing.of_job = true;
  listing.group_of = [by = lists.by.front()](const Entity& entity) { return jobs::property_text(entity, by); };
  listing.place_of = [](const std::string& group, const std::string&) { return indexes::group_of_value(group); };
  return make_listing(context, std::move(listing));
}

}  // namespace tidemark::workers
