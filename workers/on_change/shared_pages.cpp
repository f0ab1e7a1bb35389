#include "workers/on_change/shared_pages.h"

#include "feeds/tokens/token.h"

namespace tidemark::workers {
namespace {

using namespace std::chrono_literals;

// Owners that fell a little behind the others find the page that those have read.
constexpr Duration kKept = 1s;
constexpr std::size_t kMostKept = 16;
constexpr Duration kLookAgain = 1s;
// The pace of a table that changes all the time: a page wakes all owners that share it, each of which takes a few us.
constexpr Duration kForEachOwner = 50us;
constexpr Duration kMostBetweenPages = 10ms;

}  // namespace

Task<Result<SharedPages::Page>> SharedPages::read(std::string table, std::string token, std::uint32_t limit,
                                                  Duration wait) {
  table_store::FeedRequest request;
  request.place = CO_TRY(feeds::parse_token(table, token));
  request.limit = limit;
  request.wait = wait;
  request.old_values = request.new_values = true;
  forget_old();
  auto key = table + "\n" + token + "\n" + std::to_string(limit);
  auto [found, is_new] = entries_.try_emplace(key);
  if (!is_new) {
    const auto entry = found->second;
    ++entry->owners;
    while (!entry->outcome) {
      const auto ticket = entry->ready.ticket();
      co_await entry->ready.wait(ticket, clock_, kLookAgain);
    }
    co_return *entry->outcome;
  }
  const auto entry = found->second = std::make_shared<Entry>();
  if (const auto last = std::exchange(small_pages_[table], {}).lock()) {
    const auto pace = std::min<Duration>(kForEachOwner * static_cast<std::int64_t>(last->owners), kMostBetweenPages);
    const auto rest = last->read_at + pace - clock_.monotonic();
    if (rest > Duration::zero()) co_await sleep_for(clock_, rest);
  }
  auto page = co_await tables_.changes(table, std::move(request));
  const bool is_kept = page && !page->changes.empty();
  entry->outcome = page ? Result<Page>(std::make_shared<const table_store::FeedPage>(std::move(*page)))
                        : Result<Page>(fail(std::move(page.error())));
  entry->read_at = clock_.monotonic();
  if (is_kept && (*entry->outcome)->get()->changes.size() < limit) small_pages_[table] = entry;
  if (!is_kept) entries_.erase(key);
  entry->ready.notify_all();
  co_return *entry->outcome;
}

void SharedPages::forget_old() {
  const auto now = clock_.monotonic();
  std::erase_if(entries_, [&](const auto& each) {
    return each.second->outcome && (now - each.second->read_at > kKept || entries_.size() > kMostKept);
  });
  std::erase_if(small_pages_, [](const auto& each) { return each.second.expired(); });
}

}  // namespace tidemark::workers
