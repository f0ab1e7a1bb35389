// The processes that serve the other shards of the same store (docs/scale.md, Owners), as the service needs them: for
// its own work on queues of a shard that may be elsewhere, such as parts of a spread queue. Requests for one queue do
// not come here: they are passed on whole before.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "common/base/async.h"
#include "queue_service/model/message_requests.h"
#include "queue_service/storage/carriers.h"

namespace tidemark::queue_service {

class OtherOwners {
 public:
  virtual ~OtherOwners() = default;
  /// Tells whether this process serves the shard.
  [[nodiscard]] virtual bool here(std::size_t shard) const = 0;
  /// Puts departed messages into their queues there, like QueueService::arrive(). kServerBusy.
  virtual Task<Result<Arrived>> arrive(std::size_t to_shard, std::size_t from_shard,
                                       std::vector<Departed> departed) = 0;
  /// Removes the message from queues of that shard, like QueueService::withdraw().
  virtual Task<Result<bool>> withdraw(std::size_t shard, std::string account, std::vector<std::string> queues,
                                      MessageName message) = 0;
  // Operations on a part of a spread queue in the process that serves the part, like the functions of QueueService.
  // kServerBusy.
  virtual Task<Result<void>> make_part(std::string account, std::string part, std::uint64_t incarnation,
                                       bool with_poison) = 0;
  virtual Task<Result<void>> drop_part(std::string account, std::string part, std::uint64_t incarnation) = 0;
  virtual Task<Result<void>> clear(std::string account, std::string part) = 0;
  virtual Task<Result<Placed>> put(std::string account, std::string part, PutRequest request) = 0;
  virtual Task<Result<std::vector<TakenMessage>>> take(std::string account, std::string part, TakeRequest request) = 0;
  virtual Task<Result<Placed>> update(LeaseKey holder, Duration visibility, std::optional<std::string> text) = 0;
  virtual Task<Result<void>> erase(LeaseKey holder) = 0;
  virtual Task<Result<void>> give_back(LeaseKey holder) = 0;
  virtual Task<Result<std::vector<Placed>>> finish(LeaseKey holder, std::vector<FollowUp> follow_ups) = 0;
  virtual Task<Result<Placed>> move(LeaseKey holder, MoveRequest request) = 0;
  virtual Task<Result<void>> remove(std::string account, std::string part, std::string id,
                                    std::optional<std::uint64_t> epoch) = 0;
  virtual Task<Result<void>> redrive(std::string account, std::string part, std::string id, MoveRequest request,
                                     std::optional<std::uint64_t> epoch) = 0;
  /// Cancels the wait, which may be in any process.
  virtual Task<void> cancel_wait(std::string token) = 0;
};

}  // namespace tidemark::queue_service
