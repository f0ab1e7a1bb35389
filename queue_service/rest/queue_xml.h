// The XML of the queue protocol: bodies in, documents out. White space is kept exactly; what XML 1.0 forbids is
// kInvalidXmlDocument. No I/O.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "queue_service/storage/queue_service.h"

namespace tidemark::queue_service::rest {

Result<std::string> read_message_text(std::string_view body);
/// Either one QueueMessage, a follow-up in `queue` after `delay`, or a QueueMessagesList of at most 32, each with
/// MessageText and, if wanted, QueueName, VisibilityTimeout, MessageTimeToLive, GroupKey and IdempotencyKey. An empty
/// body is none.
Result<std::vector<FollowUp>> read_follow_ups(std::string_view body, const std::string& queue, Duration delay);

std::string render_put(const Placed& placed);
/// `detail`: with the extension's elements LeaseToken, GroupKey and Annotation.
std::string render_taken(const std::vector<TakenMessage>& messages, bool detail);
std::string render_peeked(const std::vector<Message>& messages, bool detail);

}  // namespace tidemark::queue_service::rest
