#include "queue_service/storage/queue_holdings.h"

#include "queue_service/storage/queue_keys.h"
#include "queue_service/storage/queue_records.h"

namespace tidemark::queue_service {

Result<void> each_queue(const kv::Reader& rows, const std::string& account,
                        const std::function<Result<void>(std::span<const kv::KeyRange>)>& each) {
  const auto queues = rows.scan(kv::under(queue_keys::queues_of(account)));
  for (; queues->valid(); queues->next()) {
    const auto everything = queue_keys::everything_of(TRY(kQueueRecord.decode(queues->value())).generation);
    TRY(each({&everything, 1}));
  }
  return queues->status();
}

}  // namespace tidemark::queue_service
