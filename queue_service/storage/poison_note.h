// What is kept with a message that left its queue for another: why, from where, and what became of it before. JSON, in
// the message's annotation. No I/O.
#pragma once
#include <string>

#include "queue_service/storage/queue_records.h"

namespace tidemark::queue_service {

struct PoisonNote {
  std::string reason;
  std::string from_queue;
  Time moved;
};
/// {"reason", "queue", "movedAt", "dequeueCount", "deliveries": [times], "before": the annotation it had, if any}
std::string annotation_of(const MessageRecord& record, const PoisonNote& note);
/// The record as it arrives elsewhere: nobody holds it.
MessageRecord released(MessageRecord record);
/// The same, with the note, for a poison queue: what is there does not expire.
MessageRecord leaving(MessageRecord record, const PoisonNote& note);

}  // namespace tidemark::queue_service
