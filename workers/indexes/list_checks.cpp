// What a scrub compares of lists and summaries, and who is told of groups that should have one entity.
#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

#include "indexes/rows/list_piece.h"
#include "indexes/store/read_entities.h"
#include "jobs/store/rows.h"
#include "table_store/model/group_text.h"
#include "workers/indexes/list_rows.h"
#include "workers/indexes/row_writer.h"

namespace tidemark::workers {
namespace {

using indexes::Number;
using jobs::EntityKey;

constexpr std::size_t kExamplesOfViolation = 2;

bool about_equal(const Number& a, const Number& b) {
  constexpr double kRounding = 1e-9;
  if (indexes::same(a, b)) return true;
  const auto* real_a = std::get_if<double>(&a);
  const auto* real_b = std::get_if<double>(&b);
  if (real_a == nullptr || real_b == nullptr || !std::isfinite(*real_a) || !std::isfinite(*real_b)) return false;
  return std::abs(*real_a - *real_b) <= kRounding * std::max(std::abs(*real_a), std::abs(*real_b));
}

}  // namespace

/// A group is unique within its partition, if that is where the lists are.
std::string ListRows::name_of_group(const GroupPlace& place, const std::string& group) const {
  return in_partition_ ? table_store::join_values({place.partition_key, group}) : group;
}

/// What the group's violation is now, if it is one. `entries`: those of one piece, whose row is `piece`.
Task<Result<ListRows::Judgement>> ListRows::judge_uniqueness(GroupPlace place, std::string group,
                                                             std::span<const ListEntry> entries,
                                                             std::optional<std::string> piece) const {
  Judgement judgement{name_of_group(place, group), {}};
  auto count = std::ssize(entries);
  const auto first = entries.first(std::min(entries.size(), kExamplesOfViolation));
  std::vector<ListEntry> some(first.begin(), first.end());
  if (count <= 1) {
    auto others = CO_TRY(co_await other_pieces(std::move(place), std::move(piece)));
    count += others.totals.count;
    std::ranges::move(others.some, std::back_inserter(some));
  }
  if (count > 1) {
    auto examples = nlohmann::json::array();
    for (const auto& entry : std::span(some).first(std::min(some.size(), kExamplesOfViolation))) {
      examples.push_back({entry.partition_key, entry.row_key});
    }
    const auto text = examples.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    judgement.violation = indexes::Violation{judgement.group, count, text};
  }
  co_return judgement;
}

Task<Result<void>> ListRows::note_violations(const std::vector<PieceChange>& changes) {
  std::vector<Judgement> judged;
  for (const auto& change : changes) {
    if (!change.shares()) continue;
    const auto& [place, group] = std::tie(change.work->place, change.work->group);
    std::optional<std::string> row;
    if (change.row) row = change.row->row_key;
    judged.push_back(CO_TRY(co_await judge_uniqueness(place, group, change.piece.entries, std::move(row))));
  }
  co_return co_await note_judged(std::move(judged));
}

Task<Result<void>> ListRows::note_judged(std::vector<Judgement> judged) {
  const auto& id = context_.index.id;
  std::vector<PartitionMutations> groups;
  if (listing_.tells) {
    std::vector<std::string> names;
    for (const auto& judgement : judged) names.push_back(judgement.group);
    const auto known = CO_TRY(co_await indexes::are_violated(context_.tables, id, std::move(names)));
    for (std::size_t i = 0; i < judged.size(); ++i) {
      if (judged[i].violation && !known[i]) groups.push_back(indexes::untold_row(id, *judged[i].violation));
    }
    to_tell_ = to_tell_ || !groups.empty();
    CO_TRY(co_await write_groups(context_.writing(), groups));
    groups.clear();
  }
  for (const auto& [group, violation] : judged) groups.push_back(indexes::violation_row(id, group, violation));
  CO_TRY(co_await write_groups(context_.writing(), groups));
  co_return Result<void>{};
}

/// Of what these rows say, the groups of which something else is noted. Many entities in one piece violate, and one
/// alone in the last piece of its group does not; otherwise the group's other pieces tell.
Task<Result<void>> ListRows::check_violations(std::vector<SeenPiece> seen) {
  std::vector<std::string> names;
  for (const auto& piece : seen) names.push_back(name_of_group(piece.place, piece.group));
  if (names.empty()) co_return Result<void>{};
  const auto known = CO_TRY(co_await indexes::are_violated(context_.tables, context_.index.id, std::move(names)));
  std::vector<Judgement> judged;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    auto& [place, group, violates, is_last] = seen[i];
    if (known[i] == violates && (violates || is_last)) continue;
    auto judgement = CO_TRY(co_await judge_uniqueness(std::move(place), std::move(group), {}, std::nullopt));
    if (judgement.violation.has_value() != known[i]) judged.push_back(std::move(judgement));
  }
  co_return co_await note_judged(std::move(judged));
}

Task<Result<ListRows::OtherPieces>> ListRows::other_pieces(GroupPlace place, std::optional<std::string> but) const {
  table_store::QueryRequest request;
  request.table = table_;
  request.follower = context_.index.id;
  request.filter = place.filter_from(0);
  OtherPieces others;
  do {
    auto page = CO_TRY(co_await context_.tables.query(request));
    for (const auto& row : page.entities) {
      if (row.row_key == but || !place.has(row.row_key)) continue;
      if (!sums_) others.totals.count += jobs::property_or<std::int32_t>(row, "Count");
      if (!sums_ && others.some.size() >= kExamplesOfViolation) continue;
      auto piece = indexes::read_piece(row);
      if (!piece) continue;
      if (sums_) {
        others.totals.add(indexes::totals_of(piece->entries));
        continue;
      }
      if (piece->entries.size() > kExamplesOfViolation) piece->entries.resize(kExamplesOfViolation);
      std::ranges::move(piece->entries, std::back_inserter(others.some));
    }
    request.continuation = std::move(page.continuation);
  } while (!request.continuation.empty());
  co_return others;
}

Task<Result<Wrong>> ListRows::check(std::vector<Entity> rows) {
  // A group's summary is looked at with its own row and with the piece that every group has, in case the row is
  // missing.
  std::set<std::string> groups;
  std::vector<Entity> pieces;
  std::vector<SeenPiece> seen;
  for (auto& row : rows) {
    const bool summary = sums_ && row.row_key == indexes::kSummaryRow;
    const bool last_piece = row.row_key.ends_with(indexes::kLastBound);
    if (sums_ && (summary || last_piece)) groups.insert(row.partition_key);
    if (unique_ && !is_misplaced(row)) {
      auto group = jobs::property_or<std::string>(row, listing_.form.group);
      const bool violates = jobs::property_or<std::int32_t>(row, "Count") > 1;
      seen.push_back({place_of(group, row.partition_key), group, violates, last_piece});
    }
    if (!summary) pieces.push_back(std::move(row));
  }
  auto wrong = CO_TRY(co_await check_pieces(std::move(pieces)));
  for (const auto& group : groups) add(CO_TRY(co_await check_summary(group)), wrong);
  CO_TRY(co_await check_violations(std::move(seen)));
  co_return wrong;
}

Task<Result<Wrong>> ListRows::check_pieces(std::vector<Entity> rows) {
  Wrong wrong;
  while (!rows.empty()) {
    std::vector<Entity*> all;
    for (auto& row : rows) all.push_back(&row);
    auto count = rows.size();
    if (listing_.blobs) count = CO_TRY(co_await listing_.blobs->load(std::move(all)));
    const auto end = rows.begin() + static_cast<std::ptrdiff_t>(count);
    std::vector<Entity> some(std::make_move_iterator(rows.begin()), std::make_move_iterator(end));
    rows.erase(rows.begin(), end);
    add(CO_TRY(co_await erase_lost(some)), wrong);
    add(CO_TRY(co_await check_some(std::move(some))), wrong);
  }
  co_return wrong;
}

/// Whether it is not where the pieces of its group are.
bool ListRows::is_misplaced(const Entity& row) const {
  if (listing_.of_job) return false;
  const auto place = place_of(jobs::property_or<std::string>(row, listing_.form.group), row.partition_key);
  return place.partition_key != row.partition_key || !place.has(row.row_key);
}

/// Rows that are not where they belong, or whose blobs are not there. What they listed and is still to be listed was
/// written again when the scrub compared the entities, or is by the next one.
Task<Result<Wrong>> ListRows::erase_lost(std::vector<Entity>& rows) {
  Wrong wrong;
  const auto lost = std::ranges::stable_partition(
      rows, [this](const Entity& row) { return row.find(listing_.form.keys) != nullptr && !is_misplaced(row); });
  for (const auto& row : lost) wrong.push_back({row.partition_key, row.row_key});
  std::vector<Entity> erased(std::make_move_iterator(lost.begin()), std::make_move_iterator(lost.end()));
  rows.erase(lost.begin(), lost.end());
  if (!erased.empty()) CO_TRY(co_await erase(std::move(erased)));
  co_return wrong;
}

Task<Result<BlobSweep>> ListRows::check_blobs(std::string from) {
  co_return co_await listing_.blobs->sweep(std::move(from));
}

Task<Result<Wrong>> ListRows::check_some(std::vector<Entity> rows) {
  std::vector<ListPiece> pieces;
  std::vector<EntityKey> keys;
  for (const auto& row : rows) {
    pieces.push_back(indexes::read_piece(row, listing_.form).value_or(ListPiece{}));
    for (const auto& entry : pieces.back().entries) keys.push_back({entry.partition_key, entry.row_key});
  }
  const auto sources = CO_TRY(co_await indexes::read_entities(context_.tables, entities_, std::move(keys),
                                                              context_.index.definition.row_properties()));
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
      if (belongs && (!sums_ || indexes::same(entry_of(*entity).value, entry.value))) continue;
      if (belongs) entry = entry_of(*entity);
      works.want(place, pieces[i].group, entry, belongs);
    }
  }
  co_return co_await make(works.take());
}

Task<Result<Wrong>> ListRows::check_summary(std::string group) {
  const auto truth = CO_TRY(co_await other_pieces(indexes::group_across(group), std::nullopt)).totals;
  const std::string head(indexes::kSummaryRow);
  const auto found = CO_TRY(co_await context_.tables.find_rows(table_, {{group, head, head + jobs::kJustBehind}}, {}));
  if (found.rows.empty()) co_return fail(error_for_log(ErrorCode::kInternalError, "a search without an answer"));
  const auto& row = found.rows.front();
  if (row && row->origin != mark()) co_return Wrong{};
  const auto told = row ? indexes::read_summary(*row) : GroupTotals{};
  const bool right = row.has_value() == (truth.count > 0) && told && told->count == truth.count &&
                     told->numbers == truth.numbers && about_equal(told->sum(), truth.sum()) &&
                     indexes::same(told->min, truth.min) && indexes::same(told->max, truth.max);
  if (right) co_return Wrong{};
  std::vector<RowChange> changes(1);
  changes[0].partition_key = group;
  changes[0].mutation =
      truth.count > 0 ? put(head, found.as_of.front(), indexes::summary_properties(group, truth)) : erasure(head);
  CO_TRY(co_await write_rows(context_.writing(), table_, changes));
  co_return Wrong{{group, head}};
}

}  // namespace tidemark::workers
