// Figures for operators and autoscalers. The sizes of the sets are stored; what the clock alone decides, whether a
// timed message is due, is counted, and what was due for long is made ready first, so that the count stays short.
#include "common/kv/key_codec.h"
#include "queue_service/storage/queue_core.h"

namespace tidemark::queue_service {
namespace {

const FailStep kSettleStep("queue.settle");

constexpr std::size_t kMaxDueCounted = 10000;
constexpr std::size_t kSettledPerTransaction = 500;
constexpr std::size_t kMaxExpiredPassed = 256;

}  // namespace

Result<QueueFigures> QueueService::Core::figures(const kv::Reader& reader, const std::string& account,
                                                 const std::string& queue, bool& settled) {
  auto record = require_queue(reader, account, queue);
  if (!record) return fail(std::move(record.error()));
  auto stored = read_figures(reader, record->generation);
  if (!stored) return fail(std::move(stored.error()));
  const auto now = clock.now();
  QueueFigures figures;
  figures.messages = stored->messages();
  figures.ready = stored->ready;
  figures.delayed = stored->delayed;
  figures.in_flight = stored->leased;
  figures.waiting = stored->waiting;
  figures.put = stored->put;
  figures.taken = stored->taken;
  figures.finished = stored->finished;
  figures.moved = stored->moved;
  figures.expired = stored->expired;
  figures.paused = record->options.paused;
  figures.max_dequeue_count = record->options.max_dequeue_count;
  std::tie(figures.in_rate, figures.out_rate) = rates.seen(record->generation, *stored, now);
  settled = true;
  if (stored->timed() > 0 && stored->timed_front.visible_at <= now) {
    const auto cursor = reader.scan(keys::placed_from(record->generation, Set::kTimed, stored->timed_front, now));
    for (std::size_t n = 0; cursor->valid() && settled; cursor->next()) {
      auto glance = glance_at(cursor->value());
      if (!glance) return fail(std::move(glance.error()));
      --(glance->leased ? figures.in_flight : figures.delayed);
      ++figures.ready;
      settled = ++n < kMaxDueCounted;
    }
    if (auto status = cursor->status(); !status) return fail(std::move(status.error()));
  }
  PlacedRows rows(reader, record->generation, *stored, now);
  for (std::size_t passed = 0; rows.valid() && passed < kMaxExpiredPassed; ++passed, rows.next()) {
    auto front = decode_message(rows.value());
    if (!front) return fail(std::move(front.error()));
    if (front->message.expires <= now) continue;
    figures.oldest = std::max(now - front->message.inserted, Duration(1));
    break;
  }
  if (auto status = rows.status(); !status) return fail(std::move(status.error()));
  if (is_poison_queue(queue)) return figures;
  auto poison = read_queue(reader, account, poison_queue_of(queue));
  if (!poison) return fail(std::move(poison.error()));
  if (!*poison) return figures;
  auto failed = read_figures(reader, (*poison)->generation);
  if (!failed) return fail(std::move(failed.error()));
  figures.poison = failed->messages();
  return figures;
}

Task<Result<void>> QueueService::settle(std::string account, std::string queue) {
  for (bool more = true; more;) {
    Change change = [&](QueueRows& rows) -> Result<void> {
      auto settled = rows.settle(kSettledPerTransaction);
      if (!settled) return fail(std::move(settled.error()));
      more = *settled;
      return {};
    };
    auto task = change_queue(kSettleStep, account, queue, std::move(change));
    auto done = co_await std::move(task);
    if (!done) co_return done;
  }
  co_return Result<void>{};
}

Task<Result<QueueFigures>> QueueService::figures(std::string account, std::string queue) {
  bool settled = true;
  auto figures = core_->figures(*core_->engine.snapshot(), account, queue, settled);
  if (!figures || settled) co_return figures;
  auto settling = settle(account, queue);
  auto done = co_await std::move(settling);
  if (!done) co_return fail(std::move(done.error()));
  co_return core_->figures(*core_->engine.snapshot(), account, queue, settled);
}

Result<FiguresPage> QueueService::all_figures(std::string_view account, std::string_view from, std::uint32_t limit) {
  const auto all = account.empty() ? keys::all_queues()
                                   : kv::KeyRange{keys::queues_of(account), kv::prefix_end(keys::queues_of(account))};
  const auto snapshot = core_->engine.snapshot();
  FiguresPage page;
  const auto cursor = snapshot->scan({std::max(all.lower, std::string(from)), all.upper});
  for (; cursor->valid(); cursor->next()) {
    if (page.queues.size() == limit) {
      page.next = cursor->key();
      break;
    }
    auto name = keys::account_and_queue(cursor->key());
    if (!name) return fail(ErrorCode::kCorruption);
    bool settled = true;
    auto figures = core_->figures(*snapshot, name->first, name->second, settled);
    if (!figures) return fail(std::move(figures.error()));
    page.queues.push_back({std::move(name->first), std::move(name->second), *figures});
  }
  auto status = cursor->status();
  if (!status) return fail(std::move(status.error()));
  return page;
}

}  // namespace tidemark::queue_service
