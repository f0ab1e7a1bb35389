#include "common/base/side_by_side.h"

#include <algorithm>

namespace tidemark {
namespace {

struct Shared {
  Step step;
  std::size_t count = 0;
  std::size_t next = 0;
  std::size_t running = 0;
  std::optional<Error> failure;
  Signal ended;
};

/// Lives as long as side_by_side's frame, which waits for it.
Task<void> lane(Shared& shared) {
  while (shared.next < shared.count && !shared.failure) {
    auto done = co_await shared.step(shared.next++);
    if (!done && !shared.failure) shared.failure = std::move(done.error());
  }
  --shared.running;
  shared.ended.notify_all();
}

}  // namespace

Task<Result<void>> side_by_side(Clock& clock, std::size_t count, Step step, std::size_t at_once) {
  if (count == 1) co_return co_await step(0);
  auto executor = co_await asio::this_coro::executor;
  Shared shared;
  shared.step = std::move(step);
  shared.count = count;
  shared.running = std::min(count, at_once);
  for (auto i = shared.running; i > 0; --i) {
    spawn(executor, lane(shared));
  }
  while (shared.running > 0) {
    co_await shared.ended.wait(clock, std::chrono::hours(1));
  }
  if (shared.failure) co_return fail(std::move(*shared.failure));
  co_return Result<void>{};
}

}  // namespace tidemark
