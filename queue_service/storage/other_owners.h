// The processes that serve the other shards of the same store (docs/scale.md, Owners), as the service needs them: what
// it does by itself with queues of a shard that may be elsewhere. Requests for one queue do not come here: they are
// passed on as a whole before.
#pragma once
#include <string>
#include <vector>

#include "common/base/async.h"
#include "queue_service/model/message_requests.h"
#include "queue_service/storage/carriers.h"

namespace tidemark::queue_service {

class OtherOwners {
 public:
  virtual ~OtherOwners() = default;
  /// This process serves the shard.
  [[nodiscard]] virtual bool here(std::size_t shard) const = 0;
  /// Puts what departed into its queues there, as QueueService::arrive(). kServerBusy.
  virtual Task<Result<Arrived>> arrive(std::size_t to_shard, std::size_t from_shard,
                                       std::vector<Departed> departed) = 0;
  /// Removes the message from queues of that shard, as QueueService::withdraw().
  virtual Task<Result<bool>> withdraw(std::size_t shard, std::string account, std::vector<std::string> queues,
                                      MessageName message) = 0;
  /// The wait may be anywhere.
  virtual Task<void> cancel_wait(std::string token) = 0;
};

}  // namespace tidemark::queue_service
