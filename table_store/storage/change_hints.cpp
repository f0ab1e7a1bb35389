#include "table_store/storage/change_hints.h"

#include "table_store/storage/followed_logs.h"
#include "table_store/storage/owner_calls.h"

namespace tidemark::table_store {
namespace {

constexpr Duration kPatience = std::chrono::seconds(4);
// The pause between two questions about the same feed and shard, however fast they are answered.
constexpr Duration kPause = std::chrono::milliseconds(5);

}  // namespace

void ChangeHints::listen(const Executor& executor, std::size_t shard, std::uint64_t feed, Version after) {
  if (shards_.here(shard)) return;
  const Place place{feed, shard};
  {
    const MutexLock lock(mutex_);
    const auto [known, is_new] = questions_.try_emplace(place, Question{after});
    if (!is_new) {
      known->second = {after, true};
      return;
    }
  }
  spawn(executor, go_on_asking(place));
}

Task<void> ChangeHints::go_on_asking(Place place) {
  const auto [feed, shard] = place;
  do {
    const auto after = begin_to_ask(place);
    const auto changed =
        co_await shards::call_elsewhere(*shards_.peers(), {.shard = shard}, calls::AwaitChange{shard, feed, after});
    if (changed && *changed) waits_.changed(feed);
    co_await sleep_for(clock_, kPause);
  } while (is_asked_again(place));
}

Version ChangeHints::begin_to_ask(const Place& place) {
  const MutexLock lock(mutex_);
  auto& question = questions_.at(place);
  question.again = false;
  return question.after;
}

bool ChangeHints::is_asked_again(const Place& place) {
  const MutexLock lock(mutex_);
  const auto question = questions_.find(place);
  if (question->second.again && !waits_.closed()) return true;
  questions_.erase(question);
  return false;
}

Task<Result<bool>> ChangeHints::await_change(std::size_t shard, std::uint64_t feed, Version after) {
  auto place = CO_TRY(waits_.take(feed));
  const auto end = clock_.monotonic() + kPatience;
  for (;;) {
    const auto ticket = place.ticket();
    {
      const auto rows = shards_[shard].engine.snapshot();
      if (CO_TRY(first_note_after(*rows, feed, after))) co_return true;
    }
    const auto left = end - clock_.monotonic();
    if (left <= Duration::zero() || waits_.closed() || !shards_.here(shard)) co_return false;
    co_await place.wait(ticket, left);
  }
}

}  // namespace tidemark::table_store
