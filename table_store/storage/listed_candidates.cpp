#include "table_store/storage/listed_candidates.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <charconv>
#include <cmath>
#include <functional>
#include <tuple>
#include <utility>

#include "table_store/storage/change_records.h"
#include "table_store/storage/list_plan.h"
#include "table_store/storage/listed_reading.h"
#include "table_store/storage/row_searches.h"
#include "table_store/storage/table_keys.h"
#include "table_store/storage/table_records.h"

namespace tidemark::table_store {
namespace {

// Beyond this, each page would cost more than a walk over the part of the table in which it is found.
constexpr std::size_t kMostKeys = 16'384;
constexpr std::size_t kMostKeyBytes = 2UL << 20;
constexpr std::size_t kHashDigits = 16;

const std::string_view* text_of(const ValueView& value) { return std::get_if<std::string_view>(&value); }

/// The content of a row of a list.
struct ListRow {
  std::string_view group, keys;
};

/// Returns nothing if the follower has not made the row, or if it is no row of a list.
Result<std::optional<ListRow>> read_row(std::string_view record, std::string_view follower, const EntityLists& lists) {
  const auto view = TRY(view_entity(record));
  if (!view.origin || view.origin->follower != follower) return std::nullopt;
  ListRow row;
  bool has_group = false;
  bool has_keys = false;
  auto properties = view.properties();
  while (properties.next()) {
    const auto value = properties.value();
    const auto* text = text_of(value);
    if (text == nullptr) continue;
    if (properties.name() == lists.group) has_group = true, row.group = *text;
    if (properties.name() == lists.keys) has_keys = true, row.keys = *text;
  }
  if (!properties.ok()) return corrupt_record("entity");
  return has_group && has_keys ? std::optional(row) : std::nullopt;
}

/// Returns the share of a group that is in its first row, which has this key.
double part_in_first_row(std::string_view key) {
  EntityKeyReader keys;
  if (!keys.read(key) || keys.row_key.size() < kHashDigits) return 1;
  const auto digits = keys.row_key.substr(keys.row_key.size() - kHashDigits);
  std::uint64_t hash = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), hash, 16);
  return std::ldexp(static_cast<double>(hash), -64);
}

/// Collects the entities in the lists of one follower.
class Candidates {
 public:
  Candidates(const FollowerRecord& follower, const KeysIn& keys_in) : follower_(follower), keys_in_(keys_in) {}

  /// Adds a row of a group; returns false if the lists are of no use.
  Result<bool> add(const std::string& group, bool first, std::string_view key, std::string_view record) {
    const auto& [name, lists] = std::tie(follower_.following.follower, *follower_.following.lists);
    const auto row = TRY(read_row(record, name, lists));
    if (!row) return false;
    if (row->group != group) return true;
    const auto listed = keys_in_(row->keys, kMostKeys);
    if (listed.empty()) return false;
    if (first && static_cast<double>(listed.size()) > part_in_first_row(key) * kMostKeys) return false;
    for (const auto& [partition_key, row_key] : listed) add(encode_entity_key(partition_key, row_key));
    return keys_.size() <= kMostKeys && bytes_ <= kMostKeyBytes;
  }
  void add(std::string key) {
    bytes_ += key.size();
    keys_.push_back(std::move(key));
  }

  ListedCandidates finish() {
    std::ranges::sort(keys_);
    const auto repeats = std::ranges::unique(keys_);
    keys_.erase(repeats.begin(), repeats.end());
    return {follower_.following.lists->index, std::move(keys_)};
  }

 private:
  const FollowerRecord& follower_;
  const KeysIn& keys_in_;
  std::vector<std::string> keys_;
  std::size_t bytes_ = 0;
};

/// Returns how much of a filter's conditions the lists use.
std::size_t detail_of(const EntityLists& lists) {
  return 2 * lists.by.size() + (lists.in_partition ? 1 : 0) + (lists.filter.empty() ? 0 : 1);
}

/// A follower whose lists have everything that a filter can match, and the rows.
struct Choice {
  const FollowerRecord* follower = nullptr;
  std::vector<GroupRows> groups;

  [[nodiscard]] const EntityLists& lists() const { return *follower->following.lists; }
};
/// Returns the choices, with those first that use most of the filter's conditions.
std::vector<Choice> choices_for(const FeedRecord& feed, const Filter& filter) {
  std::vector<Choice> choices;
  for (const auto& follower : feed.followers) {
    const auto& lists = follower.following.lists;
    if (!lists || follower.stale) continue;
    // The rows that followers make in the table are in no list.
    const bool others = std::ranges::any_of(feed.followers, [&lists](const auto& each) {
      return each.following.own_rows && may_be_meant(*each.following.own_rows, *lists);
    });
    if (others) continue;
    if (auto groups = groups_for(filter, *lists)) choices.push_back({&follower, std::move(*groups)});
  }
  std::ranges::stable_sort(choices, std::greater(), [](const Choice& one) { return detail_of(one.lists()); });
  return choices;
}

Result<bool> is_complete(const TableViews& views, std::string_view account, const EntityLists& lists) {
  const auto row = TRY(read_beside(views, account, lists.progress));
  const auto* state = row ? row->find(lists.state) : nullptr;
  const auto* text = state == nullptr ? nullptr : std::get_if<std::string>(state);
  return text != nullptr && *text == lists.complete;
}

/// Tells whether two views show the same rows in a range.
Result<bool> same_rows(const kv::Reader& one, const kv::Reader& other, const kv::KeyRange& range) {
  const auto a = one.scan(range);
  const auto b = other.scan(range);
  for (; a->valid() && b->valid(); a->next(), b->next()) {
    if (a->key() != b->key() || a->value() != b->value()) return false;
  }
  TRY(a->status());
  TRY(b->status());
  return !a->valid() && !b->valid();
}

struct Reading {
  const TableShards& shards;
  const TableViews& views;
  const TableViews& later;
  std::string_view account;
  const Query& query;
  std::string feed_key;
};

/// The state of a choice's lists before the logs were read.
struct Before {
  bool complete = false;
  TableViews::Entities lists;  // without rows: their table does not exist
};

Result<Before> see_before(const Reading& reading, const TableViews& earlier, const Choice& choice) {
  const auto& lists = choice.lists();
  Before before;
  before.complete = TRY(is_complete(earlier, reading.account, lists));
  before.lists = TRY(entities_if_there(earlier, reading.account, lists.table));
  for (const auto& [group, rows] : choice.groups) {
    std::ignore = earlier.of(reading.shards.of(reading.account, lists.table, rows.partition_key).number);
  }
  return before;
}

Task<Result<std::optional<ListedCandidates>>> find_by(const Reading& reading, const Choice& choice,
                                                      const Before& before) {
  const auto& lists = choice.lists();
  const bool divided = reading.shards.divided();
  if (!before.complete || !before.lists.rows) co_return std::nullopt;
  const auto& name = choice.follower->following.follower;
  const auto unsettled = CO_TRY(Unsettled::of(reading.views, reading.feed_key, name, kMostUnsettled));
  if (!unsettled.known()) co_return std::nullopt;
  Candidates candidates(*choice.follower, reading.query.keys_in);
  for (const auto& waiting : unsettled.keys()) candidates.add(waiting);
  const auto after = CO_TRY(entities_if_there(reading.later, reading.account, lists.table));
  if (!after.rows || after.generation != before.lists.generation) co_return std::nullopt;
  const auto executor = co_await asio::this_coro::executor;
  bool begun = false;
  for (const auto& [group, rows] : choice.groups) {
    const auto range = range_of(after.generation, rows);
    if (divided && !CO_TRY(same_rows(*before.lists.rows, *after.rows, range))) co_return std::nullopt;
    bool first = true;
    for (const auto cursor = after.rows->scan(range);; cursor->next(), first = false) {
      CO_TRY(cursor->status());
      if (!cursor->valid()) break;
      if (!CO_TRY(candidates.add(group, first, cursor->key(), cursor->value()))) co_return std::nullopt;
      if (std::exchange(begun, true)) co_await asio::post(executor, asio::use_awaitable);
    }
  }
  if (divided && !CO_TRY(is_complete(reading.later, reading.account, lists))) co_return std::nullopt;
  co_return candidates.finish();
}

}  // namespace

/// In one shard, all is of one moment. In several, the lists are read before and after the logs and the entities: rows
/// that are the same show the state at the moments in between (ProvenRows in listed_reading.h).
Task<Result<std::optional<ListedCandidates>>> find_candidates(const TableShards& shards, const TableViews& views,
                                                              std::string_view account, const Query& query) {
  const TableViews earlier_views(shards);
  const TableViews later_views(shards);
  const auto& earlier = shards.divided() ? earlier_views : views;
  const auto& later = shards.divided() ? later_views : views;
  const Reading reading{shards, views, later, account, query, feed_key(account, query.table)};
  const auto feed = CO_TRY(read_feed(earlier.catalogue(), reading.feed_key));
  if (!feed || !feed->has_lists()) co_return std::nullopt;
  const auto choices = choices_for(*feed, query.filter);
  std::vector<Before> before;
  for (const auto& choice : choices) before.push_back(CO_TRY(see_before(reading, earlier, choice)));
  for (std::size_t i = 0; i < choices.size(); ++i) {
    auto found = CO_TRY(co_await find_by(reading, choices[i], before[i]));
    if (found) co_return found;
  }
  co_return std::nullopt;
}

}  // namespace tidemark::table_store
