#include "workers/indexes/walk.h"

#include <nlohmann/json.hpp>

#include "common/base/json.h"
#include "common/base/side_by_side.h"

namespace tidemark::workers {
namespace {

using nlohmann::json;
using table_store::QueryRequest;

}  // namespace

Walk Walk::read(const std::string& text) {
  Walk walk;
  const auto stored = json_or_discarded(text);
  if (!stored.is_object()) return walk;
  walk.over_rows = stored.value("rows", false);
  walk.over_blobs = stored.value("blobs", false);
  walk.over_notes = stored.value("notes", false);
  walk.continuation = stored.value("at", std::string());
  walk.checked = stored.value("checked", std::uint64_t{0});
  walk.wrong = stored.value("wrong", std::uint64_t{0});
  walk.from = stored.value("from", std::int64_t{0});
  walk.asked = stored.value("asked", std::int32_t{0});
  walk.after_loss = stored.value("lost", false);
  walk.in_the_way.count = stored.value("inTheWay", std::uint64_t{0});
  walk.in_the_way.examples = stored.value("examples", std::vector<std::string>());
  return walk;
}

std::string Walk::text() const {
  json walk = {{"rows", over_rows}, {"at", continuation}, {"from", from}};
  if (over_blobs) walk["blobs"] = true;
  if (over_notes) walk["notes"] = true;
  walk["checked"] = checked;
  walk["wrong"] = wrong;
  walk["asked"] = asked;
  walk["lost"] = after_loss;
  if (in_the_way.count > 0) {
    walk["inTheWay"] = in_the_way.count;
    walk["examples"] = in_the_way.examples;
  }
  return walk.dump(-1, ' ', false, json::error_handler_t::replace);
}

Task<Result<WalkPage>> WalkReader::deal_with_page(const Walk& walk, Mode mode) {
  if (walk.over_notes) return walk_notes(walk.continuation);
  if (walk.over_blobs) return walk_blobs(walk.continuation);
  return walk.over_rows ? walk_rows(walk.continuation) : walk_table(walk.continuation, mode);
}

std::size_t WalkReader::most_at_once() const {
  constexpr std::uint64_t kMostEntities = 200'000;
  const bool refers = rows_.referrers() != nullptr;
  return refers ? std::clamp<std::uint64_t>(index_.definition.max_changes / 4, 1, kMostEntities) : kMostEntities;
}

/// Tells whether a walk reads many pages at once, and the next ones ahead.
bool WalkReader::reads_many(Mode mode) const { return mode != Mode::kSlowly && most_at_once() > page_entities_; }

/// Returns the end of a stretch. It is shorter if the index is ready, because then changes must be followed meanwhile.
ReadingEnd WalkReader::end_of_stretch(Mode mode) const {
  constexpr std::size_t kShareOfReady = 8;
  if (!reads_many(mode)) return {0, 0};
  const auto part = mode == Mode::kHurrying ? kShareOfReady : 1;
  return {most_at_once() / part, room_.share() / part};
}

QueryRequest WalkReader::entities_page(std::string continuation, Mode mode) const {
  QueryRequest request;
  request.table = index_.definition.entities();
  request.filter = index_.definition.filter;
  request.sources_only = true;
  request.selection = index_.definition.row_properties();
  request.continuation = std::move(continuation);
  const auto most = most_at_once();
  const auto wanted = mode == Mode::kSlowly ? std::min<std::size_t>(index_.definition.scrub_per_second, most) : most;
  request.top = static_cast<std::uint32_t>(std::clamp<std::size_t>(wanted, 1, page_entities_));
  return request;
}

Task<Result<WalkReader::Stretch>> WalkReader::read_stretch(std::string from, Mode mode) {
  Stretch stretch{rows_.gather(), 0, {}};
  const auto keep = [&stretch](Entity entity) {
    ++stretch.count;
    return stretch.entities->add(std::move(entity));
  };
  stretch.continuation =
      CO_TRY(co_await read_source(tables_, entities_page(std::move(from), mode), end_of_stretch(mode), keep));
  co_return stretch;
}

/// Reads the next stretch while the rows of the present one are written. After an error, it is read again in its turn.
Task<Result<void>> WalkReader::read_ahead(std::string from, Mode mode) {
  auto stretch = co_await read_stretch(from, mode);
  if (stretch) ahead_ = Ahead{std::move(from), std::move(*stretch)};
  co_return Result<void>{};
}

Task<Result<WalkPage>> WalkReader::walk_table(std::string from, Mode mode) {
  auto ahead = std::exchange(ahead_, {});
  if (!ahead || ahead->from != from) {
    auto answer = co_await read_stretch(from, mode);
    if (answer.failed_with(ErrorCode::kTableNotFound)) co_return WalkPage{};
    ahead = Ahead{from, CO_TRY(std::move(answer))};
  }
  auto stretch = std::move(ahead->stretch);
  WalkPage page{stretch.continuation, stretch.count, {}};
  const auto deal_with_it = [&]() -> Task<Result<void>> {
    const auto entities = std::move(stretch.entities);
    page.wrong = CO_TRY(co_await (mode == Mode::kBuilding ? entities->reconcile() : entities->compare()));
    co_return Result<void>{};
  };
  const bool goes_on = reads_many(mode) && !stretch.continuation.empty();
  CO_TRY(co_await side_by_side(clock_, goes_on ? 2 : 1, [&](std::size_t number) {
    return number == 0 ? deal_with_it() : read_ahead(stretch.continuation, mode);
  }));
  co_return page;
}

QueryRequest WalkReader::rows_page(std::string continuation) const {
  QueryRequest request;
  request.table = rows_.table();
  request.filter = rows_.row_filter();
  request.follower = index_.id;
  request.continuation = std::move(continuation);
  request.top = rows_.rows_at_once();
  return request;
}

Task<Result<WalkPage>> WalkReader::walk_rows(std::string from) {
  auto answer = co_await tables_.query(rows_page(std::move(from)));
  if (answer.failed_with(ErrorCode::kTableNotFound)) co_return WalkPage{};
  auto page = CO_TRY(std::move(answer));
  const auto checked = page.entities.size();
  auto next = table_store::text_behind(page);
  co_return WalkPage{std::move(next), checked, CO_TRY(co_await rows_.check(std::move(page.entities)))};
}

Task<Result<WalkPage>> WalkReader::walk_blobs(std::string from) {
  auto page = CO_TRY(co_await rows_.check_blobs(std::move(from)));
  co_return WalkPage{std::move(page.next), page.checked, std::move(page.wrong)};
}

Task<Result<WalkPage>> WalkReader::walk_notes(std::string from) {
  co_return WalkPage{CO_TRY(co_await rows_.check_notes(std::move(from))), 0, {}};
}

}  // namespace tidemark::workers
