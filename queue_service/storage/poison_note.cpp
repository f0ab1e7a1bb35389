#include "queue_service/storage/poison_note.h"

#include <nlohmann/json.hpp>

namespace tidemark::queue_service {

std::string annotation_of(const MessageRecord& record, const PoisonNote& note) {
  auto deliveries = nlohmann::ordered_json::array();
  for (const auto time : record.deliveries) deliveries.push_back(to_iso8601_7digits(time));
  nlohmann::ordered_json json{{"reason", note.reason},
                              {"queue", note.from_queue},
                              {"movedAt", to_iso8601_7digits(note.moved)},
                              {"dequeueCount", record.message.dequeue_count},
                              {"deliveries", std::move(deliveries)}};
  if (!record.message.annotation.empty()) json["before"] = record.message.annotation;
  auto text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() <= kMaxAnnotationBytes) return text;
  json.erase("before");  // a message that goes back and forth must not grow
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

MessageRecord released(MessageRecord record) {
  record.leased = false;
  record.offered = false;
  record.renewal = 0;
  record.receipt.reset();
  record.turn = TurnState::kNone;
  return record;
}

}  // namespace tidemark::queue_service
