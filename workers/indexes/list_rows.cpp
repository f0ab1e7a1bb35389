// Rows of the kinds `lists` and `summary` (indexes/rows/list_piece.h). The entities' keys are put into and taken out of
// the pieces of their groups: for each piece one search and one write, whatever number of its keys change. Only the
// owner writes pieces, one write of a group at a time, so what it has read is what it replaces.
#include <cmath>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "common/base/encoding.h"
#include "indexes/rows/group_text.h"
#include "indexes/rows/group_totals.h"
#include "indexes/rows/list_piece.h"
#include "indexes/store/read_entities.h"
#include "jobs/spec/key_template.h"
#include "jobs/store/rows.h"
#include "workers/indexes/index_kinds.h"
#include "workers/indexes/row_writer.h"

namespace tidemark::workers {
namespace {

using indexes::GroupPlace;
using indexes::GroupTotals;
using indexes::ListEntry;
using indexes::ListPiece;
using indexes::ListsKind;
using indexes::Number;
using indexes::SummaryKind;
using jobs::EntityKey;
using table_store::Mutation;
using table_store::Origin;
using table_store::PartitionMutations;
using table_store::RowSearch;
using table_store::Version;
using table_store::WriteOutcome;

constexpr std::size_t kSearchesInACall = 500;
constexpr char kJustBehind = '\x01';
constexpr std::string_view kLastBound = "ffffffffffffffff";

/// Whether a key is to be in its group.
struct Wanted {
  ListEntry entry;
  bool present = false;
};

/// The changes of one group, in the order of their hashes.
struct GroupWork {
  GroupPlace place;
  std::string group;
  std::vector<Wanted> wanted;
  std::size_t next = 0;     // the first that is not done
  std::string search_from;  // behind a foreign row; empty: at the hash of the next

  [[nodiscard]] bool done() const { return next == wanted.size(); }
  [[nodiscard]] RowSearch search() const {
    return {place.partition_key, search_from.empty() ? place.row_key(wanted[next].entry.hash()) : search_from,
            place.end()};
  }
};

/// Collects what is wanted by group; that an entity is in a group counts more than that it was.
class Works {
 public:
  void want(GroupPlace place, const std::string& group, ListEntry entry, bool present) {
    auto& work = works_[{place.partition_key, place.row_prefix}];
    work.place = std::move(place);
    work.group = group;
    auto& wanted = work.wanted[{entry.partition_key, entry.row_key}];
    if (wanted.present && !present) return;
    wanted = {std::move(entry), present};
  }
  std::vector<GroupWork> take() {
    std::vector<GroupWork> out;
    for (auto& [key, work] : works_) {
      auto& group = out.emplace_back(GroupWork{std::move(work.place), std::move(work.group), {}, 0, {}});
      for (auto& [entity, wanted] : work.wanted) group.wanted.push_back(std::move(wanted));
      std::ranges::sort(group.wanted, {}, [](const Wanted& wanted) { return wanted.entry.hash(); });
    }
    works_.clear();
    return out;
  }

 private:
  struct Work {
    GroupPlace place;
    std::string group;
    std::map<std::pair<std::string, std::string>, Wanted> wanted;
  };
  std::map<std::pair<std::string, std::string>, Work> works_;
};

bool same_key(const ListEntry& a, const ListEntry& b) {
  return a.partition_key == b.partition_key && a.row_key == b.row_key;
}

/// Whose entries changed. Both are in the order of their hashes, so the piece is gone through once.
Wrong apply(ListPiece& piece, const std::vector<Wanted>& wanted, std::size_t first, std::size_t last) {
  Wrong changed;
  std::vector<ListEntry> out;
  out.reserve(piece.entries.size() + (last - first));
  auto next = piece.entries.begin();  // the first that is not in `out`
  const auto end = piece.entries.end();
  const auto keep_before = [&](auto to) {
    out.insert(out.end(), std::make_move_iterator(next), std::make_move_iterator(to));
    next = to;
  };
  for (std::size_t i = first; i < last; ++i) {
    const auto& [entry, present] = wanted[i];
    keep_before(std::ranges::lower_bound(next, end, entry.hash(), {}, &ListEntry::hash));
    auto at = next;
    while (at != end && at->hash() == entry.hash() && !same_key(*at, entry)) ++at;
    const bool there = at != end && at->hash() == entry.hash();
    if (there == present && (!there || at->value == entry.value)) continue;
    changed.push_back({entry.partition_key, entry.row_key});
    if (there && present) {
      at->value = entry.value;
    } else if (present) {
      out.push_back(entry);
    } else {
      std::swap(*at, *next);
      ++next;
    }
  }
  keep_before(end);
  piece.entries = std::move(out);
  return changed;
}

/// A piece with some of its group's changes made.
struct PieceChange {
  GroupWork* work = nullptr;
  std::optional<Entity> row;  // as it is; nothing: it is new
  ListPiece piece;            // as it is to be
  Wrong changed;
  GroupTotals before;
  std::optional<Entity> summary;  // the group's

  /// Several entities are in the piece, or were.
  [[nodiscard]] bool shares() const { return before.count > 1 || piece.entries.size() > 1; }
};

class ListRows final : public IndexRows {
 public:
  ListRows(IndexRowsContext context, Listing listing)
      : context_(context),
        entities_(context.index.definition.entities()),
        listing_(std::move(listing)),
        table_(listing_.table),
        in_partition_(listing_.in_partition),
        unique_(listing_.unique),
        sums_(listing_.sums) {}

  Task<Result<Wrong>> reconcile(std::vector<ChangedEntity> changed) override;
  Task<Result<Wrong>> check(std::vector<Entity> rows) override;
  Task<Result<void>> erase(std::vector<Entity> rows) override;
  [[nodiscard]] std::string table() const override { return table_; }
  [[nodiscard]] std::uint32_t rows_at_once() const override { return 8; }

 private:
  [[nodiscard]] std::optional<std::string> group_of(const Entity& entity) const { return listing_.group_of(entity); }
  [[nodiscard]] GroupPlace place_of(const ListPiece& piece, const Entity& row) const;
  [[nodiscard]] GroupPlace place_of(const std::string& group, const std::string& partition_key) const {
    return listing_.place_of(group, partition_key);
  }
  [[nodiscard]] ListEntry entry_of(const Entity& entity) const;
  [[nodiscard]] bool in_source() const { return iequals_ascii(table_, entities_); }
  [[nodiscard]] Origin mark() const { return {context_.index.id, "", ""}; }
  Task<Result<Wrong>> make(std::vector<GroupWork> works);
  /// One step of each of these groups.
  Task<Result<Wrong>> make_round(std::vector<GroupWork*> works);
  std::optional<PieceChange> begin_piece(GroupWork& work, std::optional<Entity> row) const;
  Task<Result<PartitionMutations>> mutations_of(const PieceChange& change, Version as_of) const;
  Task<Result<void>> sum_up(const PieceChange& change, Version as_of, PartitionMutations& out) const;
  /// Of all pieces of the group but one.
  Task<Result<GroupTotals>> totals_of_others(GroupPlace place, std::optional<std::string> but) const;
  [[nodiscard]] Mutation put(std::string row_key, Version as_of, std::vector<table_store::Property> properties) const;
  [[nodiscard]] Mutation erasure(std::string row_key) const;
  struct Judgement {
    std::string group;
    std::optional<indexes::Violation> violation;
  };
  Task<Result<Judgement>> judge_uniqueness(const PieceChange& change) const;
  Task<Result<void>> note_violations(const std::vector<PieceChange>& changes);
  Task<Result<Wrong>> check_pieces(std::vector<Entity> rows);
  Task<Result<Wrong>> check_summary(std::string group);

  IndexRowsContext context_;
  std::string entities_;  // the table of what is listed
  Listing listing_;
  std::string table_;
  bool in_partition_;
  bool unique_;
  bool sums_;
};

/// Where the piece is that was read from this row. A job's row may lack the value.
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
  if (const auto* real = std::get_if<double>(value); real != nullptr && std::isfinite(*real)) entry.value = *real;
  return entry;
}

Task<Result<Wrong>> ListRows::reconcile(std::vector<ChangedEntity> changed) {
  Works works;
  for (const auto& entity : changed) {
    for (const auto& before : states_before(entity)) {
      const auto group = group_of(before);
      if (group) works.want(place_of(*group, entity.partition_key), *group, entry_of(before), false);
    }
    const auto group = entity.now ? group_of(*entity.now) : std::nullopt;
    if (group) works.want(place_of(*group, entity.partition_key), *group, entry_of(*entity.now), true);
  }
  return make(works.take());
}

Task<Result<Wrong>> ListRows::make(std::vector<GroupWork> works) {
  Wrong changed;
  while (true) {
    std::vector<GroupWork*> round;
    for (auto& work : works) {
      if (!work.done() && round.size() < kSearchesInACall) round.push_back(&work);
    }
    if (round.empty()) co_return changed;
    add(CO_TRY(co_await make_round(std::move(round))), changed);
  }
}

Task<Result<Wrong>> ListRows::make_round(std::vector<GroupWork*> works) {
  const std::size_t searches_of_each = sums_ ? 2 : 1;
  std::vector<RowSearch> searches;
  for (const auto* work : works) {
    searches.push_back(work->search());
    if (sums_) {
      const std::string head(indexes::kSummaryRow);
      searches.push_back({work->place.partition_key, head, head + kJustBehind});
    }
  }
  auto answer = co_await context_.tables.find_rows(table_, searches);
  if (answer.failed_with(ErrorCode::kTableNotFound) && in_source()) {
    // It was dropped, with its entities: the log says so next.
    for (auto* work : works) work->next = work->wanted.size();
    co_return Wrong{};
  }
  if (answer.failed_with(ErrorCode::kTableNotFound)) {
    CO_TRY(co_await jobs::ensure_table(context_.tables, table_));
    answer = co_await context_.tables.find_rows(table_, std::move(searches));
  }
  auto found = CO_TRY(std::move(answer));
  std::vector<PieceChange> changes;
  std::vector<PartitionMutations> groups;
  // The answer may be cut short; the rest is asked for in the next round.
  for (std::size_t i = 0; i < works.size() && (i + 1) * searches_of_each <= found.rows.size(); ++i) {
    auto change = begin_piece(*works[i], std::move(found.rows[i * searches_of_each]));
    if (!change || change->changed.empty()) continue;
    if (sums_) change->summary = std::move(found.rows[i * searches_of_each + 1]);
    groups.push_back(CO_TRY(co_await mutations_of(*change, found.as_of)));
    changes.push_back(std::move(*change));
  }
  // First, so that whoever dies before the pieces are written looks at them once more.
  if (unique_) CO_TRY(co_await note_violations(changes));
  const auto outcomes = CO_TRY(co_await write_groups(context_.tables, context_.fences.next(), entities_, groups));
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

/// Makes as many of the group's changes as belong to this piece. Nothing if the row is not the index's.
std::optional<PieceChange> ListRows::begin_piece(GroupWork& work, std::optional<Entity> row) const {
  if (row && row->origin != mark()) {
    work.search_from = row->row_key + kJustBehind;
    return std::nullopt;
  }
  PieceChange change;
  change.work = &work;
  change.piece.group = work.group;
  if (row) {
    // What cannot be read is made anew by the next scrub, like what is missing.
    if (auto piece = indexes::read_piece(*row, listing_.form)) change.piece = std::move(*piece);
    change.row = std::move(row);
  }
  work.search_from.clear();
  if (sums_ || unique_) change.before = indexes::totals_of(change.piece.entries);
  const auto first = work.next;
  while (!work.done() && work.wanted[work.next].entry.hash() <= change.piece.bound) ++work.next;
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

Task<Result<PartitionMutations>> ListRows::mutations_of(const PieceChange& change, Version as_of) const {
  const auto& place = change.work->place;
  PartitionMutations out{table_, place.partition_key, {}};
  if (change.piece.entries.empty()) {
    if (change.row) out.mutations.push_back(erasure(change.row->row_key));
  } else {
    for (auto& row : indexes::piece_rows(change.piece, listing_.form)) {
      if (listing_.of_job) row.properties.push_back({"SourceVersion", as_of});
      out.mutations.push_back(put(place.row_key(row.bound), as_of, std::move(row.properties)));
    }
  }
  if (sums_) CO_TRY(co_await sum_up(change, as_of, out));
  co_return out;
}

Task<Result<void>> ListRows::sum_up(const PieceChange& change, Version as_of, PartitionMutations& out) const {
  const auto after = indexes::totals_of(change.piece.entries);
  auto read = change.summary ? indexes::read_summary(*change.summary) : GroupTotals{};
  const bool whole_group = !read || indexes::loses_an_extreme(*read, change.before, after);
  GroupTotals totals;
  if (whole_group) {
    std::optional<std::string> this_piece;
    if (change.row) this_piece = change.row->row_key;
    totals = CO_TRY(co_await totals_of_others(change.work->place, std::move(this_piece)));
  } else {
    totals = *read;
    totals.subtract(change.before);
  }
  totals.add(after);
  const std::string head(indexes::kSummaryRow);
  if (totals.count > 0) {
    out.mutations.push_back(put(head, as_of, indexes::summary_properties(change.work->group, totals)));
  } else {
    out.mutations.push_back(erasure(head));
  }
  co_return Result<void>{};
}

/// What the group's violation is now, if it is one.
Task<Result<ListRows::Judgement>> ListRows::judge_uniqueness(const PieceChange& change) const {
  const auto& entries = change.piece.entries;
  auto count = static_cast<std::int64_t>(entries.size());
  if (count <= 1) {
    std::optional<std::string> this_piece;
    if (change.row) this_piece = change.row->row_key;
    count += CO_TRY(co_await totals_of_others(change.work->place, std::move(this_piece))).count;
  }
  // A group is unique within its partition, if that is where the lists are.
  const auto& [place, group] = std::tie(change.work->place, change.work->group);
  Judgement judgement{in_partition_ ? indexes::join_values({place.partition_key, group}) : group, {}};
  if (count > 1) {
    auto examples = nlohmann::json::array();
    for (std::size_t i = 0; i < std::min<std::size_t>(entries.size(), 2); ++i) {
      examples.push_back({entries[i].partition_key, entries[i].row_key});
    }
    const auto text = examples.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    judgement.violation = indexes::Violation{judgement.group, count, text};
  }
  co_return judgement;
}

Task<Result<void>> ListRows::note_violations(const std::vector<PieceChange>& changes) {
  std::vector<Judgement> judged;
  std::vector<std::string> names;
  for (const auto& change : changes) {
    if (!change.shares()) continue;
    judged.push_back(CO_TRY(co_await judge_uniqueness(change)));
    names.push_back(judged.back().group);
  }
  const auto& id = context_.index.id;
  std::vector<PartitionMutations> groups;
  if (listing_.tells) {
    const auto known = CO_TRY(co_await indexes::are_violated(context_.tables, id, std::move(names)));
    for (std::size_t i = 0; i < judged.size(); ++i) {
      if (judged[i].violation && !known[i]) groups.push_back(indexes::untold_row(id, *judged[i].violation));
    }
    to_tell_ = to_tell_ || !groups.empty();
    CO_TRY(co_await write_groups(context_.tables, context_.fences.next(), entities_, std::exchange(groups, {})));
  }
  for (const auto& [group, violation] : judged) groups.push_back(indexes::violation_row(id, group, violation));
  CO_TRY(co_await write_groups(context_.tables, context_.fences.next(), entities_, std::move(groups)));
  co_return Result<void>{};
}

std::string literal(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

Task<Result<GroupTotals>> ListRows::totals_of_others(GroupPlace place, std::optional<std::string> but) const {
  table_store::QueryRequest request;
  request.table = table_;
  request.follower = context_.index.id;
  request.filter = "PartitionKey eq " + literal(place.partition_key) + " and RowKey ge " + literal(place.row_prefix) +
                   " and RowKey lt " + literal(place.end());
  GroupTotals totals;
  do {
    auto page = CO_TRY(co_await context_.tables.query(request));
    for (const auto& row : page.entities) {
      if (row.row_key == but) continue;
      const auto piece = indexes::read_piece(row);
      if (piece) totals.add(indexes::totals_of(piece->entries));
    }
    request.continuation = std::move(page.continuation);
  } while (!request.continuation.empty());
  co_return totals;
}

Task<Result<Wrong>> ListRows::check(std::vector<Entity> rows) {
  // A group's summary is looked at with its own row and with the piece that every group has, in case the row is
  // missing.
  std::set<std::string> groups;
  std::vector<Entity> pieces;
  for (auto& row : rows) {
    const bool summary = sums_ && row.row_key == indexes::kSummaryRow;
    const bool last_piece = row.row_key.ends_with(kLastBound);
    if (sums_ && (summary || last_piece)) groups.insert(row.partition_key);
    if (!summary) pieces.push_back(std::move(row));
  }
  auto wrong = CO_TRY(co_await check_pieces(std::move(pieces)));
  for (const auto& group : groups) add(CO_TRY(co_await check_summary(group)), wrong);
  co_return wrong;
}

Task<Result<Wrong>> ListRows::check_pieces(std::vector<Entity> rows) {
  std::vector<ListPiece> pieces;
  std::vector<EntityKey> keys;
  for (const auto& row : rows) {
    pieces.push_back(indexes::read_piece(row, listing_.form).value_or(ListPiece{}));
    for (const auto& entry : pieces.back().entries) keys.push_back({entry.partition_key, entry.row_key});
  }
  const auto sources = CO_TRY(co_await indexes::read_entities(context_.tables, entities_, std::move(keys)));
  Works works;
  auto source = sources.begin();
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (auto& entry : pieces[i].entries) {
      const auto& entity = *source++;
      const auto group = entity ? group_of(*entity) : std::nullopt;
      const auto place = place_of(pieces[i], rows[i]);
      const bool belongs = listing_.of_job
                               ? group && indexes::group_of_value(*group).partition_key == place.partition_key
                               : group == pieces[i].group;
      if (belongs && (!sums_ || entry_of(*entity).value == entry.value)) continue;
      if (belongs) entry = entry_of(*entity);
      works.want(place, pieces[i].group, entry, belongs);
    }
  }
  co_return co_await make(works.take());
}

bool about_equal(const Number& a, const Number& b) {
  constexpr double kRounding = 1e-9;
  const auto* real_a = std::get_if<double>(&a);
  const auto* real_b = std::get_if<double>(&b);
  if (real_a == nullptr || real_b == nullptr) return a == b;
  return std::abs(*real_a - *real_b) <= kRounding * std::max(std::abs(*real_a), std::abs(*real_b));
}

Task<Result<Wrong>> ListRows::check_summary(std::string group) {
  const auto truth = CO_TRY(co_await totals_of_others(indexes::group_across(group), std::nullopt));
  const std::string head(indexes::kSummaryRow);
  const auto found = CO_TRY(co_await context_.tables.find_rows(table_, {{group, head, head + kJustBehind}}));
  if (found.rows.empty()) co_return fail(error_for_log(ErrorCode::kInternalError, "a search without an answer"));
  const auto& row = found.rows.front();
  if (row && row->origin != mark()) co_return Wrong{};
  const auto told = row ? indexes::read_summary(*row) : GroupTotals{};
  const bool right = row.has_value() == (truth.count > 0) && told && told->count == truth.count &&
                     told->numbers == truth.numbers && about_equal(told->sum(), truth.sum()) &&
                     told->min == truth.min && told->max == truth.max;
  if (right) co_return Wrong{};
  std::vector<RowChange> changes(1);
  changes[0].partition_key = group;
  changes[0].mutation =
      truth.count > 0 ? put(head, found.as_of, indexes::summary_properties(group, truth)) : erasure(head);
  CO_TRY(co_await write_rows(context_.tables, context_.fences.next(), entities_, table_, std::move(changes)));
  co_return Wrong{{group, head}};
}

Task<Result<void>> ListRows::erase(std::vector<Entity> rows) {
  std::vector<RowChange> erasures;
  for (auto& row : rows) erasures.push_back({row.partition_key, erasure(row.row_key)});
  CO_TRY(co_await write_rows(context_.tables, context_.fences.next(), entities_, table_, std::move(erasures)));
  co_return Result<void>{};
}

}  // namespace

Result<std::unique_ptr<IndexRows>> make_list_rows(IndexRowsContext context, SourceFilter filter) {
  const auto* lists = std::get_if<ListsKind>(&context.index.definition.kind);
  if (lists != nullptr && lists->where == ListsKind::Where::kBlobs) {
    return fail(ErrorCode::kIndexInvalid, "Lists in blobs are not supported yet.");
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
    return indexes::group_of(by, entity.partition_key, entity.row_key, entity.properties);
  };
  listing.place_of = [in_partition = listing.in_partition, name = context.index.name](
                         const std::string& group, const std::string& partition_key) {
    return in_partition ? indexes::group_in_partition(name, partition_key, group) : indexes::group_across(group);
  };
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
