// The XML of the queue protocol: bodies in, documents out. White space is kept exactly; what XML 1.0 forbids is
// kInvalidXmlDocument. No I/O.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "queue_service/storage/queue_service.h"

namespace pugi {
class xml_document;
}

namespace tidemark::queue_service::rest {

inline constexpr std::string_view kXmlDeclaration = R"(<?xml version="1.0" encoding="utf-8"?>)";

/// Parses a body strictly, with bounds on its structure. A byte order mark is allowed.
Result<void> parse_xml(std::string_view body, pugi::xml_document& document);

Result<std::string> read_message_text(std::string_view body);
/// Either one QueueMessage, a follow-up in `queue` after `delay`, or a QueueMessagesList of at most 32, each with
/// MessageText and, if wanted, QueueName, VisibilityTimeout, MessageTimeToLive, GroupKey and IdempotencyKey. An empty
/// body is none.
Result<std::vector<FollowUp>> read_follow_ups(std::string_view body, const std::string& queue, Duration delay);
/// At most five; an empty body is none.
Result<std::vector<SignedIdentifier>> read_acl(std::string_view body);

void append_escaped(std::string& out, std::string_view text);
/// <name>escaped text</name>
void append_element(std::string& out, std::string_view name, std::string_view text);
std::string render_acl(const std::vector<SignedIdentifier>& acl);
std::string render_put(const Placed& placed);
/// `detail`: with the extension's elements LeaseToken, GroupKey and Annotation.
std::string render_taken(const std::vector<TakenMessage>& messages, bool detail);
std::string render_peeked(const std::vector<Message>& messages, bool detail);
std::string render_error(const Error& error, std::string_view request_id, Time now);

}  // namespace tidemark::queue_service::rest
