#include "queue_service/storage/queue_core.h"

#include "common/kv/generations.h"
#include "common/process/failures.h"

namespace tidemark::queue_service {
namespace {
// Bounds both the tombstones that an idle queue's look walks over and how often a look costs a transaction.
constexpr Duration kWorthTidying = std::chrono::milliseconds(250);

const FailStep kCollectStep("queue.collect");

}  // namespace

Task<Result<void>> QueueService::Core::transact(const FailStep& step, Body body) {
  Effects effects;
  CO_TRY(co_await engine.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        effects = {};
        return body(txn, effects);
      },
      &step));
  for (const auto& arrival : effects.arrivals) {
    if (arrival.due) {
      arrivals.will_come(arrival.account, arrival.queue, *arrival.due);
    } else {
      arrivals.came(arrival.account, arrival.queue);
    }
  }
  for (const auto& [account, queue] : effects.changed) arrivals.changed(account, queue);
  if (effects.dropped) {
    process::spawn_in_background(co_await asio::this_coro::executor, "queue.collect_garbage",
                                 collect(shared_from_this()));
  }
  co_return Result<void>{};
}

Task<Result<void>> QueueService::Core::collect(std::shared_ptr<Core> core) {
  const auto erase = [&engine = core->engine](std::uint64_t generation) -> Task<Result<void>> {
    co_return co_await engine.erase({queue_keys::everything_of(generation)});
  };
  co_return co_await kv::collect_generations(core->engine, queue_keys::kDroppedGeneration, erase, kCollectStep);
}

Result<QueueService::Core::Look> QueueService::Core::look(std::string_view account, std::string_view queue) {
  const auto snapshot = engine.snapshot();
  auto record = TRY(require_queue(*snapshot, account, queue));
  auto figures = TRY(read_figures(*snapshot, record.generation));
  Look look;
  look.generation = record.generation;
  const auto now = clock.now();
  look.empty = figures.messages() == 0 || record.options.paused;
  look.may_have_expired = figures.messages() > 0 && std::min(figures.swept_expiry, figures.new_expiry) <= ages.now();
  if (look.empty) return look;
  look.something = figures.ready > 0;
  if (look.something || figures.timed() == 0 || figures.timed_front.visible_at > now) return look;
  look.something = TRY(first_timed(*snapshot, look.generation, figures, now)).has_value();
  look.worth_tidying = !look.something && figures.timed_front.visible_at + kWorthTidying < now;
  return look;
}

Result<std::optional<Time>> QueueService::Core::first_due(std::uint64_t generation) {
  const auto snapshot = engine.snapshot();
  auto figures = read_figures(*snapshot, generation);
  if (!figures) return std::optional<Time>();  // cleared meanwhile: the waiters are woken
  const auto first = TRY(first_timed(*snapshot, generation, *figures, Time::max()));
  return first ? std::optional(first->visible_at) : std::nullopt;
}

Result<std::vector<Message>> QueueService::Core::visible(std::string_view account, std::string_view queue,
                                                         std::uint32_t count) {
  const auto snapshot = engine.snapshot();
  std::vector<Message> messages;
  auto record = TRY(require_queue(*snapshot, account, queue));
  auto figures = TRY(read_figures(*snapshot, record.generation));
  const auto [now, age] = moment();
  PlacedRows rows(*snapshot, record.generation, figures, now);
  for (; rows.valid() && messages.size() < count; rows.next()) {
    auto found = TRY(decode_message(rows.value()));
    if (found.message.expires <= age) continue;
    found.message.next_visible = rows.place().visible_at;
    messages.push_back(std::move(found.message));
  }
  TRY(rows.status());
  return messages;
}

}  // namespace tidemark::queue_service
