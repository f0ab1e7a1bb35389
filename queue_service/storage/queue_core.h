// What the operations of the queue service share: the engine, the hints, the waiters, and the way to run transactions
// that keeps hints and waiters correct. Private to storage/. Thread safe.
#pragma once
#include "queue_service/storage/arrivals.h"
#include "queue_service/storage/last_gets.h"
#include "queue_service/storage/queue_rates.h"
#include "queue_service/storage/queue_service.h"
#include "queue_service/storage/waits.h"

namespace tidemark::queue_service {

/// Puts one message; kIdempotencyKeyReused. The request was checked by check_put.
Result<Placed> put_in(QueueRows& rows, const PutRequest& request, const std::string& id, const std::string& text_hash);
/// kInvalidInput if an id alone does not name a message of this queue.
Result<void> check_listed(std::string_view queue);
/// Checks sizes and keys.
Result<void> check_put(const PutRequest& request);
/// The message its holder speaks of: kLeaseLost by epoch; kMessageNotFound, kPopReceiptMismatch by receipt.
Result<FoundMessage> find_held(const QueueRows& rows, const LeaseKey& holder);
/// kMessageNotFound.
Result<FoundMessage> find_listed(const QueueRows& rows, const std::string& id);
/// What an idempotency key stands for.
std::string hash_of(const PutRequest& request);

struct QueueService::Core : std::enable_shared_from_this<QueueService::Core> {
  Core(kv::Engine& engine_, Clock& clock_, Random& random_, ServiceLimits limits_, const Clock& ages_)
      : engine(engine_), clock(clock_), ages(ages_), random(random_), limits(limits_), arrivals(clock_) {}

  kv::Engine& engine;
  Clock& clock;
  const Clock& ages;  // for what expires
  Random& random;
  const ServiceLimits limits;
  Arrivals arrivals;
  Waits waits;
  LastGets last_gets;
  Rates rates;
  Signal shutdown;
  std::atomic<bool> stopping{false};

  [[nodiscard]] Moment moment() const { return {clock.now(), ages.now()}; }

  using Body = std::function<Result<void>(kv::Transaction&, Effects&)>;
  /// Runs the body. Once it is committed, wakes those whom it concerns and starts the collection if necessary.
  Task<Result<void>> transact(const FailStep& step, Body body);
  static Task<Result<void>> collect(std::shared_ptr<Core> core);

  /// What can be seen at the front of a queue without a transaction.
  struct Look {
    std::uint64_t generation = 0;
    bool something = false;  // visible, or expired and in the way
    bool worth_tidying = false;
    bool empty = false;  // not even delayed messages
    bool may_have_expired = false;
  };
  Result<Look> look(std::string_view account, std::string_view queue);
  Result<std::vector<Message>> visible(std::string_view account, std::string_view queue, std::uint32_t count);
  /// When the next message becomes visible.
  Result<std::optional<Time>> first_due(std::uint64_t generation);
  /// Only reads. If not `settled`, there were more due messages than it counts; QueueRows::settle helps.
  Result<QueueFigures> figures(const kv::Reader& reader, const std::string& account, const std::string& queue,
                               bool& settled);
};

template <class Change, class Changed>
Task<Changed> QueueService::change_queue(const FailStep& step, std::string account, std::string queue, Change change) {
  Changed changed;
  const auto at = core_->moment();  // the same in each run: what a run reads reaches up to it
  CO_TRY(co_await core_->transact(step, [&](kv::Transaction& txn, Effects& effects) -> Result<void> {
    auto rows = TRY(QueueRows::open(txn, effects, account, queue, at));
    changed = change(rows);
    if (!changed) return fail(std::move(changed.error()));
    rows.save();
    return {};
  }));
  co_return changed;
}

template <class Change, class Changed>
Task<Changed> QueueService::change_held(const FailStep& step, LeaseKey holder, Change change) {
  co_return co_await change_queue(step, holder.account, holder.queue, [&](QueueRows& rows) -> Changed {
    auto found = TRY(find_held(rows, holder));
    return change(rows, found);
  });
}

}  // namespace tidemark::queue_service
