// The scrub of lists and summaries, and the notes of groups that should have one entity but have several.
#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

#include "common/base/json.h"
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

/// Returns the name of the group in notes. If the lists are in partitions, a group is unique within its partition.
std::string ListRows::name_of_group(const GroupPlace& place, const std::string& group) const {
  return in_partition_ ? table_store::join_values({place.partition_key, group}) : group;
}

/// Returns the present violation of the group, if there is one. `entries`: the new contents of the pieces in these
/// rows.
Task<Result<ListRows::Judgement>> ListRows::judge_uniqueness(GroupPlace place, std::string group,
                                                             std::span<const ListEntry> entries,
                                                             std::vector<std::string> pieces) const {
  Judgement judgement{name_of_group(place, group), {}};
  auto count = std::ssize(entries);
  const auto first = entries.first(std::min(entries.size(), kExamplesOfViolation));
  std::vector<ListEntry> some(first.begin(), first.end());
  if (count <= 1) {
    auto others = CO_TRY(co_await other_pieces(std::move(place), std::move(pieces)));
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
    judged.push_back(CO_TRY(co_await judge_uniqueness(place, group, change.piece.entries, change.row_keys())));
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

/// Corrects the notes of groups that differ from these pieces. Several entities in one piece are a violation, and a
/// single one in the last piece of its group is none; otherwise the group's other pieces decide.
Task<Result<void>> ListRows::check_violations(std::vector<SeenPiece> seen) {
  std::vector<std::string> names;
  for (const auto& piece : seen) names.push_back(name_of_group(piece.place, piece.group));
  if (names.empty()) co_return Result<void>{};
  const auto known = CO_TRY(co_await indexes::are_violated(context_.tables, context_.index.id, std::move(names)));
  std::vector<Judgement> judged;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    auto& [place, group, violates, is_last] = seen[i];
    if (known[i] == violates && (violates || is_last)) continue;
    auto judgement = CO_TRY(co_await judge_uniqueness(std::move(place), std::move(group), {}, {}));
    if (judgement.violation.has_value() != known[i]) judged.push_back(std::move(judgement));
  }
  co_return co_await note_judged(std::move(judged));
}

/// Returns the group of a note; nothing if the note does not tell it. If the lists are in partitions, the name in the
/// note is the PartitionKey, which is that of the examples, followed by the group.
std::optional<ListRows::SeenPiece> ListRows::group_in_note(const indexes::Violation& violation) const {
  if (!in_partition_) return SeenPiece{place_of(violation.group, ""), violation.group};
  const auto examples = json_or_discarded(violation.examples);
  const auto path = nlohmann::json::json_pointer("/0/0");
  if (!examples.contains(path) || !examples[path].is_string()) return std::nullopt;
  const auto partition_key = examples[path].get<std::string>();
  if (!violation.group.starts_with(partition_key + ',')) return std::nullopt;
  const auto group = violation.group.substr(partition_key.size() + 1);
  return SeenPiece{place_of(group, partition_key), group};
}

/// Checks groups by their notes, because a scrub finds no rows of a group whose rows are gone with their table.
Task<Result<std::string>> ListRows::check_notes(std::string from) {
  auto page = CO_TRY(co_await indexes::noted_violations(context_.tables, context_.index.id, std::move(from)));
  std::vector<SeenPiece> seen;
  for (const auto& violation : page.violations) {
    if (auto group = group_in_note(violation)) seen.push_back(std::move(*group));
  }
  CO_TRY(co_await check_violations(std::move(seen)));
  co_return std::move(page.continuation);
}

Task<Result<ListRows::OtherPieces>> ListRows::other_pieces(GroupPlace place, std::vector<std::string> but) const {
  table_store::QueryRequest request;
  request.table = table_;
  request.follower = context_.index.id;
  request.filter = place.filter_from(0);
  OtherPieces others;
  do {
    auto read = co_await context_.tables.query(request);
    if (read.failed_with(ErrorCode::kTableNotFound)) co_return others;
    auto page = CO_TRY(std::move(read));
    request.continuation = table_store::text_behind(page);
    for (const auto& row : page.entities) {
      if (!place.has(row.row_key) || std::ranges::find(but, row.row_key) != but.end()) continue;
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
  } while (!request.continuation.empty());
  co_return others;
}

Task<Result<Wrong>> ListRows::check(std::vector<Entity> rows) {
  // A group's summary is checked when its own row is, and when the last piece of the group is, in case the summary's
  // row is missing. Every group has a last piece.
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

/// Tells whether the row is not at the place of its group's pieces.
bool ListRows::is_misplaced(const Entity& row) const {
  if (listing_.of_job) return false;
  const auto place = place_of(jobs::property_or<std::string>(row, listing_.form.group), row.partition_key);
  return place.partition_key != row.partition_key || !place.has(row.row_key);
}

/// Erases rows that are misplaced, or whose blobs are missing. Their keys, as far as they must still be listed, were
/// written again when the scrub compared the entities, or will be by the next scrub.
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
  auto wrong = CO_TRY(co_await make(works.take()));
  std::ignore = CO_TRY(co_await make(small_pieces(pieces, rows)));
  co_return wrong;
}

Task<Result<Wrong>> ListRows::check_summary(std::string group) {
  const auto truth = CO_TRY(co_await other_pieces(indexes::group_across(group), {})).totals;
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
