// The parts that the operations of the queue service share (Core), and one shard of it: its engine, its hints, and the
// way to run transactions that keeps hints and waiters correct. Private to storage/. Thread safe.
#pragma once
#include "queue_service/storage/arrivals.h"
#include "queue_service/storage/carriers.h"
#include "queue_service/storage/last_gets.h"
#include "queue_service/storage/queue_rates.h"
#include "queue_service/storage/queue_service.h"
#include "queue_service/storage/waits.h"

namespace tidemark::queue_service {

/// Puts one message; kIdempotencyKeyReused. The request was checked by check_put.
Result<Placed> put_in(QueueRows& rows, const PutRequest& request, const std::string& id, const std::string& text_hash);
/// Inserts a message that came from another queue.
Result<Placed> insert_moved(QueueRows& rows, MessageRecord record);
/// kInvalidInput if an id alone does not name a message of this queue.
Result<void> check_listed(std::string_view queue);
/// Checks sizes and keys.
Result<void> check_put(const PutRequest& request);
/// Returns the message that the holder names: kLeaseLost by epoch; kMessageNotFound, kPopReceiptMismatch by receipt.
Result<FoundMessage> find_held(const QueueRows& rows, const LeaseKey& holder);
/// kMessageNotFound, also if the message has another epoch than the given one.
Result<FoundMessage> find_listed(const QueueRows& rows, const std::string& id, std::optional<std::uint64_t> epoch);
/// Returns the hash that identifies the content of a put with an idempotency key.
std::string hash_of(const PutRequest& request);

struct QueueService::Shard : std::enable_shared_from_this<QueueService::Shard> {
  Shard(std::size_t number_, const shards::Shard& stored, Clock& clock_, Arrivals& arrivals_)
      : number(number_), engine(stored.engine), clock(clock_), ages(stored.ages), arrivals(arrivals_) {}

  const std::size_t number;
  kv::Engine& engine;
  Clock& clock;
  const Clock& ages;   // the clock for expiry
  Arrivals& arrivals;  // of all shards; parts use those of the whole queue
  LastGets last_gets;
  Rates rates;
  Carriers carriers;
  Mutex arrived_mutex;
  ArrivedBefore arrived_before GUARDED_BY(arrived_mutex);  // from this shard; null until first needed

  [[nodiscard]] Moment moment() const { return {clock.now(), ages.now()}; }

  using Body = std::function<Result<void>(kv::Transaction&, Effects&)>;
  /// Runs the body. Once it is committed, wakes the receivers concerned and starts the collection if necessary.
  Task<Result<void>> transact(const FailStep& step, Body body);
  static Task<Result<void>> collect(std::shared_ptr<Shard> shard);

  /// The state at the front of a queue, as seen without a transaction.
  struct Look {
    bool something = false;  // a visible message, or an expired one in the way
    bool worth_tidying = false;
    bool empty = false;  // not even delayed messages
    bool may_have_expired = false;
    QueueOptions options;
  };
  Result<Look> look(std::string_view account, std::string_view queue);
  Result<std::vector<Message>> visible(std::string_view account, std::string_view queue, std::uint32_t count);
  /// Tells whether a follow-up from another shard could be put now. That may have changed when it arrives.
  [[nodiscard]] Result<void> could_put(const std::string& account, const FollowUp& next,
                                       const std::string& text_hash) const;
  /// Returns when the next message becomes visible; nothing if the queue does not exist.
  Result<std::optional<Time>> first_due(std::string_view account, std::string_view queue);
  /// Only reads. If it sets `settled` to false, there were more due messages than it counts; QueueRows::settle helps.
  Result<QueueFigures> figures(const kv::Reader& reader, const std::string& account, const std::string& queue,
                               bool& settled);
};

struct QueueService::Core {
  Core(shards::Shards stored, Clock& clock, Random& random, ServiceLimits limits);

  /// Returns a queue's shard. A queue and its poison queue are on one shard, and its parts on the ones that follow.
  [[nodiscard]] Shard& of(std::string_view account, std::string_view queue) const {
    const auto part = part_in(queue);
    const std::string_view whole = part ? std::string_view(part->queue) : queue;
    const auto first = stored.placement.of({account, without_poison_suffix(whole)});
    return *shards[part ? (first + part->number) % shards.size() : first];
  }
  /// Returns 1 for a queue that is not spread or does not exist.
  [[nodiscard]] Result<std::uint32_t> parts_of(std::string_view account, std::string_view queue) const;
  /// Returns the queue, and its parts if it is spread.
  [[nodiscard]] Result<std::vector<std::string>> with_parts(std::string_view account, std::string queue) const;
  [[nodiscard]] Result<std::vector<std::string>> with_parts(std::string_view account,
                                                            const std::vector<std::string>& queues) const;
  /// kInvalidMetadata if a queue of this name cannot have so many parts.
  [[nodiscard]] Result<void> check_parts(std::string_view queue, std::uint32_t parts) const;
  /// Decides the part of a message: its group, else its idempotency key, else `turn`.
  struct Sorting {
    std::string_view group, idempotency_key;
    std::uint32_t turn = 0;
  };
  [[nodiscard]] std::string part_for(std::string_view account, std::string queue, std::uint32_t parts,
                                     const Sorting& by) const;
  /// Returns the part for a moved message: beside the part it comes from, if it goes to the poison queue of its queue
  /// or back; for a message of a group, the part of the group.
  [[nodiscard]] std::string part_to_move(std::string_view account, std::string_view from, std::string queue,
                                         std::uint32_t parts, const Sorting& by) const;
  [[nodiscard]] bool may_be_spread(std::string_view queue) const { return shards.size() > 1 && !is_part(queue); }
  [[nodiscard]] Result<std::string> part_to_put(std::string_view account, std::string queue, const PutRequest& request);
  /// Returns the queue or part for a message, as seen by a transaction of the shard `here`: its part, if the message
  /// has a group or a key and the queue is spread by now; the whole queue, if the part no longer exists.
  [[nodiscard]] Result<std::string> part_by_now(const kv::Reader& rows, const Shard& here, std::string_view account,
                                                std::string queue, const Sorting& by) const;
  std::uint32_t next_turn() { return turns.fetch_add(1, std::memory_order_relaxed); }
  /// Returns the shard for a transaction of this queue.
  [[nodiscard]] Shard& to_write(std::string_view account, std::string_view queue) const {
    auto& shard = of(account, queue);
    stored.all[shard.number].wrote(account, queue);
    return shard;
  }
  /// Tells whether this process serves the shard.
  [[nodiscard]] bool here(const Shard& shard) const {
    return stored.peers == nullptr || stored.peers->here(shard.number);
  }
  /// Puts a departed message in a transaction of this shard. If it has to go on to another shard, it departs again.
  Result<Arrival> put_departed(kv::Transaction& txn, Effects& effects, Shard& here, Departure departure,
                               const ArrivedBefore& arrived, Moment at) const;
  /// Puts the messages that departed from another shard into queues of this one.
  Task<Result<Arrived>> arrive(Shard& to, std::size_t from_shard, std::vector<Departed> departed);
  /// Returns the numbers of arrivals to count on from, for messages that depart from this shard. With durability=os, a
  /// power cut may have taken its latest departures and left their arrivals elsewhere, and a number that is given again
  /// would count as arrived.
  [[nodiscard]] Result<ArrivedBefore> arrived_before(Shard& from) const;
  /// A message is still on its way: shortens the wait of upkeep.
  void carry_soon() {
    if (!stuck.exchange(true)) shutdown.notify_all();
  }
  /// Brings the messages that left one shard to all others. Fails if that was not possible for one of them.
  Task<Result<void>> carry_from(Shard& from);
  /// Brings the messages that left one shard to another, up to this number and few more: later departures wait for
  /// another turn.
  Task<Result<void>> carry(Shard& from, Shard& to, std::uint64_t last);
  /// Brings the message, unless another coroutine does, and returns its arrival.
  Task<Result<Arrival>> arrival_of(Shard& from, Shard& to, Awaited& message);
  /// Follows a message of this shard until it is put into a queue. kServerBusy if it departs too often.
  Task<Result<Placed>> follow(Shard& at, Arrival arrival);

  Clock& clock;
  Random& random;
  const ServiceLimits limits;
  const shards::Shards stored;
  Arrivals arrivals;
  std::vector<std::shared_ptr<Shard>> shards;
  std::atomic<std::uint32_t> turns{0};  // for choosing parts
  Waits waits;
  Signal shutdown;
  std::atomic<bool> stopping{false};
  std::atomic<bool> stuck{false};  // a departed message could not be brought, or departed again
};

template <class Change, class Changed>
Task<Changed> QueueService::change_queue(const FailStep& step, std::string account, std::string queue, Change change) {
  Changed changed;
  auto& shard = core_->to_write(account, queue);
  const auto at = shard.moment();  // the same moment in each run: the reads of a run reach up to it
  CO_TRY(co_await shard.transact(step, [&](kv::Transaction& txn, Effects& effects) -> Result<void> {
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
  auto changed = co_await change_queue(step, holder.account, holder.queue, [&](QueueRows& rows) -> Changed {
    auto found = TRY(find_held(rows, holder));
    return change(rows, found);
  });
  // The queue may exist and have other parts.
  if (is_part(holder.queue) && changed.failed_with(ErrorCode::kQueueNotFound)) {
    co_return fail(holder.epoch == 0 ? ErrorCode::kMessageNotFound : ErrorCode::kLeaseLost);
  }
  co_return changed;
}

}  // namespace tidemark::queue_service
