// Put, get, peek, update and delete as the public protocol has them.
#include "queue_service/storage/queue_core.h"

namespace tidemark::queue_service {
namespace {

const FailStep kPutStep("queue.put");
const FailStep kTakeStep("queue.take");
const FailStep kUpdateStep("queue.update");
const FailStep kEraseStep("queue.erase");

/// now + span without leaving the years the protocol can write.
Time bounded_sum(Time now, Duration span) { return span >= kNeverExpires - now ? kNeverExpires : now + span; }

}  // namespace

Task<Result<Placed>> QueueService::put(std::string account, std::string queue, PutRequest request) {
  auto fits = check_text(request.text);
  if (!fits) co_return fail(std::move(fits.error()));
  Placed placed;
  const auto id = core_->random.guid();
  Change change = [&](QueueRows& rows) -> Result<void> {
    const auto now = core_->clock.now();
    MessageRecord record;
    record.message.id = id;
    record.message.text = request.text;
    record.message.inserted = now;
    record.message.expires = request.time_to_live ? bounded_sum(now, *request.time_to_live) : kNeverExpires;
    const auto expires = record.message.expires;
    std::optional<Time> visible_at;
    if (request.delay > Duration::zero()) visible_at = now + request.delay;
    const auto place = rows.insert(std::move(record), visible_at);
    placed = {id, to_receipt(place), now, expires, place.visible_at};
    return {};
  };
  auto task = change_queue(kPutStep, account, queue, std::move(change));
  auto done = co_await std::move(task);
  if (!done) co_return fail(std::move(done.error()));
  co_return placed;
}

Task<Result<Taken>> QueueService::take(std::string account, std::string queue, std::uint32_t count,
                                       Duration visibility) {
  for (;;) {
    Taken taken;
    Change change = [&](QueueRows& rows) -> Result<void> {
      auto got = rows.take(count, visibility);
      if (!got) return fail(std::move(got.error()));
      taken = std::move(*got);
      return {};
    };
    auto task = change_queue(kTakeStep, account, queue, std::move(change));
    auto done = co_await std::move(task);
    if (!done) co_return fail(std::move(done.error()));
    // Only expired messages so far: what comes after them may be visible.
    if (taken.more && taken.messages.empty()) continue;
    co_return taken;
  }
}

Task<Result<std::vector<TakenMessage>>> QueueService::get(std::string account, std::string queue, std::uint32_t count,
                                                          Duration visibility) {
  auto look = core_->look(account, queue);
  if (!look) co_return fail(std::move(look.error()));
  if (!look->something && !look->worth_tidying) co_return std::vector<TakenMessage>{};
  auto task = take(account, queue, count, visibility);
  auto taken = co_await std::move(task);
  if (!taken) co_return fail(std::move(taken.error()));
  co_return std::move(taken->messages);
}

Task<Result<std::vector<Message>>> QueueService::peek(std::string account, std::string queue, std::uint32_t count) {
  auto look = core_->look(account, queue);
  if (!look) co_return fail(std::move(look.error()));
  if (!look->something) co_return std::vector<Message>{};
  auto tidying = tidy(account, queue);
  auto tidied = co_await std::move(tidying);
  if (!tidied) co_return fail(std::move(tidied.error()));

  co_return core_->visible(account, queue, count);
}

Task<Result<Placed>> QueueService::update(std::string account, std::string queue, std::string id, std::string receipt,
                                          Duration visibility, std::optional<std::string> text) {
  if (text) {
    auto fits = check_text(*text);
    if (!fits) co_return fail(std::move(fits.error()));
  }
  Placed placed;
  Change change = [&](QueueRows& rows) -> Result<void> {
    auto found = rows.find_by_receipt(id, receipt);
    if (!found) return fail(std::move(found.error()));
    if (text) found->record.message.text = *text;
    const auto place = rows.rewrite(*found, core_->clock.now() + visibility);
    const auto& message = found->record.message;
    placed = {id, to_receipt(place), message.inserted, message.expires, place.visible_at};
    return {};
  };
  auto task = change_queue(kUpdateStep, account, queue, std::move(change));
  auto done = co_await std::move(task);
  if (!done) co_return fail(std::move(done.error()));
  co_return placed;
}

Task<Result<void>> QueueService::erase(std::string account, std::string queue, std::string id, std::string receipt) {
  Change change = [&](QueueRows& rows) -> Result<void> {
    auto found = rows.find_by_receipt(id, receipt);
    if (!found) return fail(std::move(found.error()));
    rows.remove(*found);
    return {};
  };
  auto task = change_queue(kEraseStep, account, queue, std::move(change));
  co_return co_await std::move(task);
}

}  // namespace tidemark::queue_service
