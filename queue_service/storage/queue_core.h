// What the operations of the queue service share: the engine, the hints and the waiters, and the one way of running a
// transaction that keeps the latter two true. Private to storage/. Thread safe.
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
/// Sizes and keys.
Result<void> check_put(const PutRequest& request);
/// What an idempotency key stands for.
std::string hash_of(const PutRequest& request);

struct QueueService::Core : std::enable_shared_from_this<QueueService::Core> {
  Core(kv::Engine& engine_, Clock& clock_, Random& random_, ServiceLimits limits_)
      : engine(engine_), clock(clock_), random(random_), limits(limits_), arrivals(clock_) {}

  kv::Engine& engine;
  Clock& clock;
  Random& random;
  const ServiceLimits limits;
  Arrivals arrivals;
  Waits waits;
  LastGets last_gets;
  Rates rates;
  Signal shutdown;
  std::atomic<bool> stopping{false};

  using Body = std::function<Result<void>(kv::Transaction&, Effects&)>;
  /// Runs the body; once it is committed, wakes those whom its effects concern and starts collection if need be.
  Task<Result<void>> transact(const FailStep& step, Body body);
  static Task<Result<void>> collect(std::shared_ptr<Core> core);

  /// What a look without a transaction shows of the front of a queue.
  struct Look {
    std::uint64_t generation = 0;
    bool something = false;  // visible, or expired and in the way
    bool worth_tidying = false;
    bool empty = false;  // not even delayed messages
    bool may_have_expired = false;
  };
  Result<Look> look(std::string_view account, std::string_view queue);
  Result<std::vector<Message>> visible(std::string_view account, std::string_view queue, std::uint32_t count);
  /// When the first message that is not visible yet will be.
  Result<std::optional<Time>> first_due(std::uint64_t generation);
  /// Reads alone. `settled` false: there were more due messages than it counts; QueueRows::settle helps.
  Result<QueueFigures> figures(const kv::Reader& reader, const std::string& account, const std::string& queue,
                               bool& settled);
};

}  // namespace tidemark::queue_service
