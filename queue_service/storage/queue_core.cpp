#include "queue_service/storage/queue_core.h"

namespace tidemark::queue_service {
namespace {

const FailStep kCollectStep("queue.collect");

}  // namespace

Task<Result<void>> QueueService::Core::transact(const FailStep& step, Body body) {
  Effects effects;
  auto forget_hints = [this, &effects] {
    for (const auto generation : effects.raised) hints.forget(generation);
  };
  kv::TransactionBody run = [&](kv::Transaction& txn) -> Result<void> {
    forget_hints();  // of a run before this one
    effects = {};
    auto done = body(txn, effects);
    if (!done) {
      forget_hints();
      effects = {};
    }
    return done;
  };
  auto task = engine.transact(std::move(run), &step);
  auto done = co_await std::move(task);
  if (!done) {
    forget_hints();
    co_return done;
  }
  for (const auto& arrival : effects.arrivals) {
    if (arrival.due) {
      arrivals.will_come(arrival.account, arrival.queue, *arrival.due);
    } else {
      arrivals.came(arrival.account, arrival.queue);
    }
  }
  for (const auto& [account, queue] : effects.changed) arrivals.changed(account, queue);
  if (effects.dropped) {
    auto executor = co_await asio::this_coro::executor;
    auto collecting = collect(shared_from_this());
    spawn(executor, std::move(collecting));
  }
  co_return done;
}

Task<void> QueueService::Core::collect(std::shared_ptr<Core> core) {
  std::vector<std::uint64_t> generations;
  {
    const auto snapshot = core->engine.snapshot();
    for (auto cursor = snapshot->scan(keys::all_dropped()); cursor->valid(); cursor->next()) {
      if (const auto generation = keys::dropped_generation(cursor->key())) generations.push_back(*generation);
    }
  }
  for (const auto generation : generations) {
    core->hints.forget(generation);
    // What fails here stays listed and is tried again after the next clear, or at the next start.
    if (!core->engine.erase_range(keys::everything_of(generation))) co_return;
    kv::TransactionBody unlist = [generation](kv::Transaction& txn) -> Result<void> {
      txn.erase(keys::dropped(generation));
      return {};
    };
    auto task = core->engine.transact(std::move(unlist), &kCollectStep);
    auto done = co_await std::move(task);
    if (!done) co_return;
  }
}

Result<QueueService::Core::Look> QueueService::Core::look(std::string_view account, std::string_view queue) {
  const auto snapshot = engine.snapshot();
  auto record = require_queue(*snapshot, account, queue);
  if (!record) return fail(std::move(record.error()));
  auto figures = read_figures(*snapshot, record->generation);
  if (!figures) return fail(std::move(figures.error()));
  Look look;
  look.generation = record->generation;
  const auto now = clock.now();
  look.empty = figures->messages == 0;
  if (look.empty) {
    look.worth_tidying = hints.is_behind(record->generation, now);
    return look;
  }
  const auto until = std::max(now, figures->last_immediate);
  const auto cursor = snapshot->scan(keys::messages(record->generation, hints.front(record->generation), until));
  for (; cursor->valid() && !look.something; cursor->next()) {
    const auto place = keys::message_place(cursor->key());
    if (place && place->visible_at <= now) {
      look.something = true;
      break;
    }
    auto message = decode_message(cursor->value());
    if (!message) return fail(std::move(message.error()));
    look.something = message->immediate || message->message.expires <= now;
  }
  auto status = cursor->status();
  if (!status) return fail(std::move(status.error()));
  look.worth_tidying = !look.something && hints.is_behind(record->generation, now);
  return look;
}

Result<std::optional<Time>> QueueService::Core::first_due(std::uint64_t generation) {
  const auto snapshot = engine.snapshot();
  const auto cursor = snapshot->scan(keys::messages(generation, hints.front(generation), Time::max()));
  std::optional<Time> due;
  if (cursor->valid()) {
    if (const auto place = keys::message_place(cursor->key())) due = place->visible_at;
  }
  auto status = cursor->status();
  if (!status) return fail(std::move(status.error()));
  return due;
}

Result<std::vector<Message>> QueueService::Core::visible(std::string_view account, std::string_view queue,
                                                         std::uint32_t count) {
  const auto snapshot = engine.snapshot();
  std::vector<Message> messages;
  auto record = require_queue(*snapshot, account, queue);
  if (!record) return fail(std::move(record.error()));
  auto figures = read_figures(*snapshot, record->generation);
  if (!figures) return fail(std::move(figures.error()));
  const auto now = clock.now();
  const auto range =
      keys::messages(record->generation, hints.front(record->generation), std::max(now, figures->last_immediate));
  const auto cursor = snapshot->scan(range);
  for (; cursor->valid() && messages.size() < count; cursor->next()) {
    const auto place = keys::message_place(cursor->key());
    auto found = decode_message(cursor->value());
    if (!place || !found) return fail(ErrorCode::kCorruption);
    const bool visible = found->immediate || place->visible_at <= now;
    if (!visible || found->message.expires <= now) continue;
    found->message.next_visible = place->visible_at;
    messages.push_back(std::move(found->message));
  }
  auto status = cursor->status();
  if (!status) return fail(std::move(status.error()));
  return messages;
}

}  // namespace tidemark::queue_service
