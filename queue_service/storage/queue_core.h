// What the operations of the queue service share (Core), and one shard of it: its engine, its hints, and the way to run
// transactions that keeps hints and waiters correct. Private to storage/. Thread safe.
#pragma once
#include "queue_service/storage/arrivals.h"
#include "queue_service/storage/carriers.h"
#include "queue_service/storage/last_gets.h"
#include "queue_service/storage/other_owners.h"
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
/// The message its holder speaks of: kLeaseLost by epoch; kMessageNotFound, kPopReceiptMismatch by receipt.
Result<FoundMessage> find_held(const QueueRows& rows, const LeaseKey& holder);
/// kMessageNotFound.
Result<FoundMessage> find_listed(const QueueRows& rows, const std::string& id);
/// What an idempotency key stands for.
std::string hash_of(const PutRequest& request);

struct QueueService::Shard : std::enable_shared_from_this<QueueService::Shard> {
  Shard(std::size_t number_, const kv::Shard& stored, Clock& clock_)
      : number(number_), engine(stored.engine), clock(clock_), ages(stored.ages), arrivals(clock_) {}

  const std::size_t number;
  kv::Engine& engine;
  Clock& clock;
  const Clock& ages;  // for what expires
  Arrivals arrivals;
  LastGets last_gets;
  Rates rates;
  Carriers carriers;

  [[nodiscard]] Moment moment() const { return {clock.now(), ages.now()}; }

  using Body = std::function<Result<void>(kv::Transaction&, Effects&)>;
  /// Runs the body. Once it is committed, wakes those whom it concerns and starts the collection if necessary.
  Task<Result<void>> transact(const FailStep& step, Body body);
  static Task<Result<void>> collect(std::shared_ptr<Shard> shard);

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
  /// Whether a follow-up can be put that comes from another shard; what is true now need not be when it arrives.
  [[nodiscard]] Result<void> could_put(const std::string& account, const FollowUp& next,
                                       const std::string& text_hash) const;
  /// When the next message becomes visible.
  Result<std::optional<Time>> first_due(std::uint64_t generation);
  /// Only reads. If not `settled`, there were more due messages than it counts; QueueRows::settle helps.
  Result<QueueFigures> figures(const kv::Reader& reader, const std::string& account, const std::string& queue,
                               bool& settled);
};

struct QueueService::Core {
  Core(kv::Shards stored, Clock& clock, Random& random, ServiceLimits limits);

  /// A queue and its poison queue are on one shard.
  [[nodiscard]] Shard& of(std::string_view account, std::string_view queue) const {
    return *shards[stored.placement.of({account, without_poison_suffix(queue)})];
  }
  /// The same, for a transaction of this queue.
  [[nodiscard]] Shard& to_write(std::string_view account, std::string_view queue) const {
    auto& shard = of(account, queue);
    stored.all[shard.number].wrote(account, queue);
    return shard;
  }
  /// This process serves the shard.
  [[nodiscard]] bool here(const Shard& shard) const { return others == nullptr || others->here(shard.number); }
  /// Puts into queues of one shard what departed from another.
  Task<Result<Arrived>> arrive(Shard& to, std::size_t from_shard, std::vector<Departed> departed);
  /// Brings what left one shard to all others. Fails if that was not possible for one of them.
  Task<Result<void>> carry_from(Shard& from);
  /// Brings what left one shard to another, until nothing is on its way.
  Task<Result<void>> carry(Shard& from, Shard& to);
  /// The same, and tells where the message that departed under this number was put.
  Task<Result<Placed>> carry_one(Shard& from, Shard& to, std::uint64_t number);

  Clock& clock;
  Random& random;
  const ServiceLimits limits;
  const kv::Shards stored;
  std::vector<std::shared_ptr<Shard>> shards;
  OtherOwners* others = nullptr;  // null: there are none
  Waits waits;
  Signal shutdown;
  std::atomic<bool> stopping{false};
  std::atomic<bool> stuck{false};  // something that departed could not be brought
};

template <class Change, class Changed>
Task<Changed> QueueService::change_queue(const FailStep& step, std::string account, std::string queue, Change change) {
  Changed changed;
  auto& shard = core_->to_write(account, queue);
  const auto at = shard.moment();  // the same in each run: what a run reads reaches up to it
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
  co_return co_await change_queue(step, holder.account, holder.queue, [&](QueueRows& rows) -> Changed {
    auto found = TRY(find_held(rows, holder));
    return change(rows, found);
  });
}

}  // namespace tidemark::queue_service
