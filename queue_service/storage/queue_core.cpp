#include "queue_service/storage/queue_core.h"

#include "common/kv/generations.h"
#include "common/process/failures.h"
#include "queue_service/storage/served_calls.h"

namespace tidemark::queue_service {
namespace {
// Bounds both the tombstones that a look at an idle queue walks over and how often a look costs a transaction.
constexpr Duration kWorthTidying = std::chrono::milliseconds(250);
// A Peek skips no more expired messages than this: it holds an I/O thread meanwhile.
constexpr std::size_t kMaxExpiredSeen = 4096;
constexpr std::size_t kMaxExpiredBytesSeen = 16UL << 20;

const FailStep kCollectStep("queue.collect");
const FailStep kArriveStep("queue.arrive");
const FailStep kForgetDepartedStep("queue.forget_departed");

constexpr std::size_t kCarriedTogether = 64;
/// Each leg but the first is for a queue that was spread, deleted or made anew while the message was on its way.
constexpr int kMostLegs = 4;
constexpr Duration kTurnPatience = std::chrono::seconds(5);

}  // namespace

QueueService::Core::Core(shards::Shards shards_, Clock& clock_, Random& random_, ServiceLimits limits_)
    : clock(clock_), random(random_), limits(limits_), stored(std::move(shards_)), arrivals(clock_) {
  for (const auto& shard : stored.all) shards.push_back(std::make_shared<Shard>(shards.size(), shard, clock, arrivals));
}

Task<Result<void>> QueueService::Shard::transact(const FailStep& step, Body body) {
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
  for (const auto& [account, queue] : effects.changed) arrivals.changed(account, whole_queue(queue));
  if (effects.dropped) {
    process::spawn_in_background(co_await asio::this_coro::executor, "queue.collect_garbage",
                                 collect(shared_from_this()));
  }
  co_return Result<void>{};
}

Task<Result<void>> QueueService::Shard::collect(std::shared_ptr<Shard> shard) {
  const auto erase = [&engine = shard->engine](std::uint64_t generation) -> Task<Result<void>> {
    co_return co_await engine.erase({queue_keys::everything_of(generation)});
  };
  co_return co_await kv::collect_generations(shard->engine, queue_keys::kDroppedGeneration, erase, kCollectStep);
}

Result<Arrival> QueueService::Core::put_departed(kv::Transaction& txn, Effects& effects, Shard& here,
                                                 Departure departure, const ArrivedBefore& arrived, Moment at) const {
  auto& [account, queue, id, put, moved] = departure;
  auto record = put ? MessageRecord() : TRY(decode_message(moved));
  const auto by = put ? Sorting{put->group, put->idempotency_key} : Sorting{record.message.group, {}};
  queue = TRY(part_by_now(txn, here, account, std::move(queue), by));
  if (const auto& next = of(account, queue); &next != &here) {
    return TRY(depart(txn, here.carriers, next.number, departure, arrived));
  }
  if (!put) {
    auto rows = TRY(QueueRows::open_or_create(txn, effects, account, queue, at));
    return TRY(insert_moved(rows, std::move(record)));
  }
  auto rows = TRY(QueueRows::open(txn, effects, account, queue, at));
  auto placed = TRY(put_in(rows, *put, id, hash_of(*put)));
  rows.save();
  return placed;
}

Task<Result<Arrived>> QueueService::Core::arrive(Shard& to, std::size_t from_shard, std::vector<Departed> departed) {
  Arrived arrived;
  bool departed_again = false;
  const auto before = CO_TRY(arrived_before(to));
  const auto at = to.moment();
  CO_TRY(co_await to.transact(kArriveStep, [&](kv::Transaction& txn, Effects& effects) -> Result<void> {
    departed_again = false;
    const auto put = [&](const Departure& departure) -> Result<Arrival> {
      auto arrival = TRY(put_departed(txn, effects, to, departure, before, at));
      departed_again = departed_again || std::holds_alternative<Onward>(arrival);
      return arrival;
    };
    arrived = TRY(queue_service::arrive(txn, from_shard, departed, put));
    return {};
  }));
  if (departed_again) carry_soon();
  co_return arrived;
}

Result<ArrivedBefore> QueueService::Core::arrived_before(Shard& from) const {
  // Shards that processes share are in one database, which has one log.
  if (shards.size() == 1 || stored.peers != nullptr) return ArrivedBefore();
  const MutexLock lock(from.arrived_mutex);
  if (from.arrived_before) return from.arrived_before;
  std::vector<std::uint64_t> numbers;
  for (const auto& to : shards) numbers.push_back(TRY(last_arrived(*to->engine.snapshot(), from.number)));
  from.arrived_before = std::make_shared<const std::vector<std::uint64_t>>(std::move(numbers));
  return from.arrived_before;
}

Task<Result<void>> QueueService::Core::carry(Shard& from, Shard& to, std::uint64_t last) {
  for (bool more = true; more;) {
    const auto batch = CO_TRY(read_departed(*from.engine.snapshot(), to.number, kCarriedTogether));
    if (batch.empty()) break;
    auto arrived = CO_TRY(here(to) ? co_await arrive(to, from.number, batch)
                                   : co_await arrive_elsewhere(*stored.peers, to.number, from.number, batch));
    from.carriers.note(to.number, std::move(arrived));
    CO_TRY(co_await from.transact(kForgetDepartedStep, [&](kv::Transaction& txn, Effects&) -> Result<void> {
      forget_departed(txn, to.number, batch);
      return {};
    }));
    more = batch.back().number < last;
  }
  co_return Result<void>{};
}

Task<Result<void>> QueueService::Core::carry_from(Shard& from) {
  std::optional<Error> failed;  // of one other shard; the rest do not wait for it
  for (const auto& to : shards) {
    const auto turn = to.get() == &from ? nullptr : from.carriers.begin(to->number);
    if (!turn) continue;
    const auto last = last_departed(*from.engine.snapshot(), to->number);
    auto carried = last ? co_await carry(from, *to, *last) : Result<void>(fail(last.error()));
    if (!carried) failed = std::move(carried.error());
  }
  if (!failed) co_return Result<void>{};
  carry_soon();
  co_return fail(std::move(*failed));
}

Task<Result<Placed>> QueueService::Core::follow(Shard& at, Arrival arrival) {
  auto* from = &at;
  int legs = 0;
  while (const auto* const onward = std::get_if<Onward>(&arrival)) {
    if (++legs > kMostLegs) co_return fail(ErrorCode::kServerBusy);
    auto* const to = shards[(*onward)->to_shard].get();
    arrival = CO_TRY(co_await arrival_of(*from, *to, **onward));
    from = to;
  }
  co_return std::get<Placed>(std::move(arrival));
}

Task<Result<Arrival>> QueueService::Core::arrival_of(Shard& from, Shard& to, Awaited& message) {
  for (;;) {
    const auto ticket = message.told.ticket();
    if (auto outcome = message.outcome()) co_return std::move(*outcome);
    if (const auto turn = from.carriers.begin(to.number, &message)) {
      auto carried = co_await carry(from, to, message.number);
      if (!carried) carry_soon();
      if (auto outcome = message.outcome()) co_return std::move(*outcome);
      if (!carried) co_return fail(std::move(carried.error()));
      co_return fail(ErrorCode::kOperationTimedOut);  // the message arrived, but its carrier never learned where
    }
    co_await message.told.wait(ticket, clock, kTurnPatience);
  }
}

Result<QueueService::Shard::Look> QueueService::Shard::look(std::string_view account, std::string_view queue) {
  const auto snapshot = engine.snapshot();
  auto record = TRY(require_queue(*snapshot, account, queue));
  auto figures = TRY(read_figures(*snapshot, record.generation));
  Look look;
  look.options = record.options;
  const auto now = clock.now();
  look.empty = figures.messages() == 0 || record.options.paused;
  look.may_have_expired = figures.messages() > 0 && std::min(figures.swept_expiry, figures.new_expiry) <= ages.now();
  if (look.empty) return look;
  look.something = figures.ready > 0;
  if (look.something || figures.timed() == 0 || figures.timed_front.visible_at > now) return look;
  look.something = TRY(first_timed(*snapshot, record.generation, figures, now)).has_value();
  look.worth_tidying = !look.something && figures.timed_front.visible_at + kWorthTidying < now;
  return look;
}

Result<std::optional<Time>> QueueService::Shard::first_due(std::string_view account, std::string_view queue) {
  const auto snapshot = engine.snapshot();
  const auto record = TRY(read_queue(*snapshot, account, queue));
  if (!record) return std::optional<Time>();
  const auto figures = TRY(read_figures(*snapshot, record->generation));
  const auto first = TRY(first_timed(*snapshot, record->generation, figures, Time::max()));
  return first ? std::optional(first->visible_at) : std::nullopt;
}

Result<std::vector<Message>> QueueService::Shard::visible(std::string_view account, std::string_view queue,
                                                          std::uint32_t count) {
  const auto snapshot = engine.snapshot();
  std::vector<Message> messages;
  auto record = TRY(require_queue(*snapshot, account, queue));
  auto figures = TRY(read_figures(*snapshot, record.generation));
  const auto [now, age] = moment();
  PlacedRows rows(*snapshot, record.generation, figures, now);
  std::size_t passed = 0, bytes = 0;
  for (; rows.valid() && messages.size() < count; rows.next()) {
    if (TRY(glance_at(rows.value())).expires <= age) {
      bytes += rows.value().size();
      if (++passed == kMaxExpiredSeen || bytes > kMaxExpiredBytesSeen) break;
      continue;
    }
    auto found = TRY(decode_message(rows.value()));
    found.message.next_visible = rows.place().visible_at;
    messages.push_back(std::move(found.message));
  }
  TRY(rows.status());
  return messages;
}

}  // namespace tidemark::queue_service
