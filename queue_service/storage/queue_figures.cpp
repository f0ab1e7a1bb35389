// Figures for operators and autoscalers. The sizes of the sets are stored; only the number of due timed messages
// depends on the clock, so it is counted, and messages that have long been due are made ready first, which keeps the
// count short.
#include "queue_service/storage/queue_core.h"

namespace tidemark::queue_service {
namespace {

const FailStep kSettleStep("queue.settle");

constexpr std::size_t kMaxDueCounted = 10000;
constexpr std::size_t kSettledPerTransaction = 500;

/// Adds the figures of the queue itself or of one of its parts. A missing part counts as empty: it is just being
/// dropped.
Result<void> add_part(QueueFigures& sum, std::string_view queue, std::string_view part, Result<QueueFigures> figures) {
  if (part == queue) {
    sum = TRY(std::move(figures));
    return {};
  }
  if (figures.failed_with(ErrorCode::kQueueNotFound)) return {};
  const auto more = TRY(std::move(figures));
  ++sum.parts;
  using F = QueueFigures;
  for (const auto count : {&F::messages, &F::ready, &F::delayed, &F::in_flight, &F::waiting, &F::poison, &F::put,
                           &F::taken, &F::finished, &F::moved, &F::expired}) {
    sum.*count += more.*count;
  }
  sum.in_rate += more.in_rate;
  sum.out_rate += more.out_rate;
  sum.oldest = std::max(sum.oldest, more.oldest);
  return {};
}

}  // namespace

Result<QueueFigures> QueueService::Shard::figures(const kv::Reader& reader, const std::string& account,
                                                  const std::string& queue, bool& settled) {
  auto record = TRY(require_queue(reader, account, queue));
  auto stored = TRY(read_figures(reader, record.generation));
  const auto [now, age] = moment();
  QueueFigures figures;
  figures.messages = stored.messages();
  figures.ready = stored.ready;
  figures.delayed = stored.delayed;
  figures.in_flight = stored.leased;
  figures.waiting = stored.waiting;
  figures.put = stored.put;
  figures.taken = stored.taken;
  figures.finished = stored.finished;
  figures.moved = stored.moved;
  figures.expired = stored.expired;
  figures.paused = record.options.paused;
  figures.max_dequeue_count = record.options.max_dequeue_count;
  std::tie(figures.in_rate, figures.out_rate) = rates.seen(record.generation, stored, now);
  settled = true;
  if (stored.timed() > 0 && stored.timed_front.visible_at <= now) {
    const auto cursor = reader.scan(queue_keys::placed_from(record.generation, Set::kTimed, stored.timed_front, now));
    for (std::size_t n = 0; cursor->valid() && settled; cursor->next()) {
      auto glance = TRY(glance_at(cursor->value()));
      --(glance.leased ? figures.in_flight : figures.delayed);
      ++figures.ready;
      settled = ++n < kMaxDueCounted;
    }
    TRY(cursor->status());
  }
  PlacedRows rows(reader, record.generation, stored, now);
  for (std::size_t passed = 0; rows.valid() && passed < kMaxExpiredPassed; ++passed, rows.next()) {
    auto front = TRY(decode_message(rows.value()));
    if (front.message.expires <= age) continue;
    // A message that was sent back, or is tried again, waits from then on.
    figures.oldest = std::max(now - std::max(front.message.inserted, rows.place().visible_at), Duration(1));
    break;
  }
  TRY(rows.status());
  if (is_poison_queue(queue)) return figures;
  auto poison = TRY(read_queue(reader, account, poison_queue_of(queue)));
  if (!poison) return figures;
  auto failed = TRY(read_figures(reader, poison->generation));
  figures.poison = failed.messages();
  return figures;
}

Task<Result<void>> QueueService::settle(std::string account, std::string queue) {
  const auto settle_some = [](QueueRows& rows) { return rows.settle(kSettledPerTransaction); };
  while (CO_TRY(co_await change_queue(kSettleStep, account, queue, settle_some))) {
  }
  co_return Result<void>{};
}

Task<Result<QueueFigures>> QueueService::figures(std::string account, std::string queue) {
  QueueFigures sum;
  for (const auto& part : CO_TRY(core_->with_parts(account, queue))) {
    bool settled = true;
    auto& shard = core_->of(account, part);
    auto figures = shard.figures(*shard.engine.snapshot(), account, part, settled);
    if (figures && !settled && core_->here(shard)) {
      CO_TRY(co_await settle(account, part));
      figures = shard.figures(*shard.engine.snapshot(), account, part, settled);
    }
    CO_TRY(add_part(sum, queue, part, std::move(figures)));
  }
  co_return sum;
}

Result<FiguresPage> QueueService::all_figures(std::string_view account, std::string_view from, std::uint32_t limit) {
  const auto all = account.empty()
                       ? queue_keys::all_queues()
                       : kv::KeyRange{queue_keys::queues_of(account), kv::prefix_end(queue_keys::queues_of(account))};
  const auto snapshots = shards::snapshots_of(core_->stored);
  FiguresPage page;
  shards::MergedScan queues(snapshots, {std::max(all.lower, std::string(from)), all.upper});
  for (; queues.valid(); queues.next()) {
    auto name = queue_keys::account_and_queue(queues.key());
    if (!name) return fail(ErrorCode::kCorruption);
    auto& [account_name, queue] = *name;
    if (is_part(queue)) continue;
    if (page.queues.size() == limit) {
      page.next = queues.key();
      break;
    }
    QueueFigures sum;
    for (const auto& part : part_names(queue, TRY(kQueueRecord.decode(queues.value())).options.parts)) {
      bool settled = true;
      auto& shard = core_->of(account_name, part);
      TRY(add_part(sum, queue, part, shard.figures(*snapshots[shard.number], account_name, part, settled)));
    }
    page.queues.push_back({std::move(account_name), std::move(queue), sum});
  }
  TRY(queues.status());
  return page;
}

}  // namespace tidemark::queue_service
