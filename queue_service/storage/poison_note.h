// The note on a message that was moved to another queue: why, from which queue, and the message's history. It is JSON
// in the message's annotation. No I/O.
#pragma once
#include <string>

#include "queue_service/storage/queue_records.h"

namespace tidemark::queue_service {

struct PoisonNote {
  std::string reason;
  std::string from_queue;
  Time moved;
};
/// {"reason", "queue", "movedAt", "dequeueCount", "deliveries": [times], "before": the previous annotation, if any}
std::string annotation_of(const MessageRecord& record, const PoisonNote& note);
/// Returns the record as it arrives in another queue, where it has no holder.
MessageRecord released(MessageRecord record);
}  // namespace tidemark::queue_service
