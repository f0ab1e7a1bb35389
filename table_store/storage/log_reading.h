// The reading of a table's logs, one on each shard, in the order of their versions: for followers (change_pages.cpp)
// and for change feeds (change_feeds.cpp). Private to storage/.
#pragma once
#include <boost/asio/post.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "table_store/storage/change_records.h"
#include "table_store/storage/table_service.h"

namespace tidemark::table_store {

/// A place in a shard's log.
struct LogCursor {
  std::unique_ptr<kv::Cursor> cursor = {};
  std::optional<NotePlace> next = {};  // of the note there; nothing at the end

  /// Reads the place that the cursor has come to.
  Result<void> look() {
    next.reset();
    if (!cursor->valid()) return cursor->status();
    next = place_of_note(cursor->key());
    return next ? Result<void>{} : corrupt_record("note");
  }
};

/// Returns the lane with the lowest next version among those that `goes_on` admits; null if there is none. A lane has a
/// member `log`, which is a LogCursor.
template <class Lane, class GoesOn>
Lane* first_lane(std::vector<Lane>& lanes, GoesOn goes_on) {
  Lane* first = nullptr;
  for (auto& lane : lanes) {
    if (!lane.log.next || !goes_on(lane)) continue;
    if (first == nullptr || lane.log.next->version < first->log.next->version) first = &lane;
  }
  return first;
}

/// Reads notes to the end of the reader's page, and gives the thread away between slices.
template <class Reader>
Task<Result<void>> read_in_slices(Reader& reader) {
  const auto executor = co_await asio::this_coro::executor;
  for (std::size_t notes = 1; CO_TRY(reader.step()); ++notes) {
    if (notes % kNotesInASlice == 0) co_await asio::post(executor, asio::use_awaitable);
  }
  co_return Result<void>{};
}

/// A page, and what a request needs to wait for another one.
template <class Page>
struct ReadPage {
  Page page;
  bool says_anything = false;
  std::uint64_t feed = 0;  // the number of the log
  Position seen = {};      // the last versions that it can have
};

/// `read` returns a Task of a Result of a ReadPage<Page>; a request that waits holds no snapshots.
template <class Page, class Read>
Task<Result<Page>> TableService::await_page(Duration wait, Read read) {
  const auto end = clock_.monotonic() + wait;
  std::optional<ChangeWaits::Place> place;
  for (bool last = wait == Duration::zero();;) {
    const auto ticket = place ? place->ticket() : Signal::Ticket{};
    ReadPage<Page> got = CO_TRY(co_await read());
    if (last || got.says_anything) co_return std::move(got.page);
    if (!place) {
      auto taken = waits_.take(got.feed);
      if (taken.failed_with(ErrorCode::kUnavailable)) co_return std::move(got.page);  // the store ends
      place.emplace(CO_TRY(std::move(taken)));
    } else {
      last = !co_await await_changes(*place, ticket, end, std::move(got.seen));
    }
  }
}

}  // namespace tidemark::table_store
