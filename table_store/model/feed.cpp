#include "table_store/model/feed.h"

namespace tidemark::table_store {
namespace {

void move(FeedPlace& place, std::uint32_t shard, LogPlace behind) {
  if (shard < place.logs.size()) place.logs[shard] = behind;
}

}  // namespace

void pass(FeedPlace& place, const Change& change) {
  move(place, change.shard, {change.version, change.index + 1});
  for (const auto& [shard, behind] : change.elsewhere) move(place, shard, behind);
}

FeedPlace place_behind(const FeedPage& page, std::size_t count) {
  auto place = page.begin;
  for (std::size_t i = 0; i < std::min(count, page.changes.size()); ++i) pass(place, page.changes[i]);
  return place;
}

}  // namespace tidemark::table_store
