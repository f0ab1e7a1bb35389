// The XML of the queue protocol: parses bodies and renders documents. White space is kept exactly. kInvalidXmlDocument
// if a body is not XML 1.0. No I/O.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "queue_service/storage/queue_service.h"

namespace tidemark::queue_service::rest {

Result<std::string> read_message_text(std::string_view body);
/// Reads either one QueueMessage, which is a follow-up in `queue` after `delay`, or a QueueMessagesList of up to 32,
/// each with MessageText and optionally QueueName, VisibilityTimeout, MessageTimeToLive, GroupKey and IdempotencyKey.
/// An empty body has no follow-ups.
Result<std::vector<FollowUp>> read_follow_ups(std::string_view body, const std::string& queue, Duration delay);

std::string render_put(const Placed& placed);
/// `detail`: with the extension's elements LeaseToken, GroupKey and Annotation.
std::string render_taken(const std::vector<TakenMessage>& messages, bool detail);
std::string render_peeked(const std::vector<Message>& messages, bool detail);

}  // namespace tidemark::queue_service::rest
