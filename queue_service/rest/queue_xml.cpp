#include "queue_service/rest/queue_xml.h"

#include <pugixml.hpp>

#include "common/base/byte_set.h"
#include "common/base/encoding.h"
#include "common/base/numbers.h"
#include "common/base/xml_text.h"
#include "common/protocol/protocol_errors.h"
#include "common/protocol/xml.h"
#include "queue_service/rest/message_extensions.h"

namespace tidemark::queue_service::rest {
namespace {

std::optional<std::string> optional_child(const pugi::xml_node& node, const char* name) {
  const auto child = node.child(name);
  if (!child || child.text().empty()) return std::nullopt;
  return std::string(child.text().get());
}

constexpr ByteSet kParsed("&<\r");

/// Returns the text of a body in the form that the SDKs write if no character needs escaping; nothing for any other
/// body.
std::optional<std::string_view> plain_message_text(std::string_view body) {
  constexpr std::string_view kBegin = "<QueueMessage><MessageText>";
  constexpr std::string_view kEnd = "</MessageText></QueueMessage>";
  if (body.starts_with("\xEF\xBB\xBF")) body.remove_prefix(3);
  if (body.starts_with("<?xml ")) {
    const auto end = body.find("?>");
    if (end == std::string_view::npos || body.substr(1, end).find('<') != std::string_view::npos) return std::nullopt;
    body.remove_prefix(end + 2);
  }
  while (!body.empty() && (body.front() == '\n' || body.front() == '\r' || body.front() == ' ')) body.remove_prefix(1);
  while (!body.empty() && (body.back() == '\n' || body.back() == '\r' || body.back() == ' ')) body.remove_suffix(1);
  if (!body.starts_with(kBegin) || !body.ends_with(kEnd) || body.size() < kBegin.size() + kEnd.size()) {
    return std::nullopt;
  }
  const auto text = body.substr(kBegin.size(), body.size() - kBegin.size() - kEnd.size());
  if (kParsed.find_first(text) != text.size() || !is_xml_text(text)) return std::nullopt;
  return text;
}

Result<std::string> text_of(const pugi::xml_node& message) {
  const auto node = message.child("MessageText");
  if (!node) return fail(protocol::missing_node("MessageText"));
  std::string text;
  for (const auto& piece : node.children()) {
    if (piece.type() != pugi::node_pcdata && piece.type() != pugi::node_cdata) {
      return fail(ErrorCode::kInvalidXmlDocument);
    }
    text += piece.value();
  }
  return text;
}

Result<std::optional<std::int64_t>> number_child(const pugi::xml_node& node, const char* name, std::int64_t min,
                                                 std::int64_t max) {
  const auto text = optional_child(node, name);
  if (!text) return std::optional<std::int64_t>();
  const auto value = parse_nearest<std::int64_t>(*text);
  if (!value || *value < min || *value > max) return fail(protocol::invalid_node(name, *text));
  return value;
}

Result<FollowUp> read_follow_up(const pugi::xml_node& node, const std::string& queue, Duration delay) {
  FollowUp next;
  next.queue = optional_child(node, "QueueName").value_or(queue);
  next.message.text = TRY(text_of(node));
  auto visibility = TRY(number_child(node, "VisibilityTimeout", 0, 604800));
  next.message.delay = visibility ? Duration(std::chrono::seconds(*visibility)) : delay;
  const auto life_s = TRY(number_child(node, "MessageTimeToLive", -1, INT64_MAX)).value_or(604800);
  const auto life = life_of(life_s);
  // As for a put: the message would expire before it becomes visible.
  if (life && next.message.delay >= *life) {
    return fail(protocol::invalid_node("MessageTimeToLive", std::to_string(life_s)));
  }
  next.message.time_to_live = life;
  next.message.group = optional_child(node, "GroupKey").value_or(std::string());
  next.message.idempotency_key = optional_child(node, "IdempotencyKey").value_or(std::string());
  return next;
}

}  // namespace

Result<std::string> read_message_text(std::string_view body) {
  if (const auto plain = plain_message_text(body)) return std::string(*plain);
  pugi::xml_document document;
  TRY(protocol::parse_xml(body, document));
  const auto root = document.document_element();
  if (std::string_view(root.name()) != "QueueMessage") return fail(ErrorCode::kInvalidXmlDocument);
  return text_of(root);
}

Result<std::vector<FollowUp>> read_follow_ups(std::string_view body, const std::string& queue, Duration delay) {
  std::vector<FollowUp> follow_ups;
  if (body.empty()) return follow_ups;
  pugi::xml_document document;
  TRY(protocol::parse_xml(body, document));
  const auto root = document.document_element();
  const bool one = std::string_view(root.name()) == "QueueMessage";
  if (!one && std::string_view(root.name()) != "QueueMessagesList") return fail(ErrorCode::kInvalidXmlDocument);
  for (auto node = one ? root : root.child("QueueMessage"); node;
       node = one ? pugi::xml_node() : node.next_sibling("QueueMessage")) {
    if (follow_ups.size() == kMaxFollowUps) return fail(ErrorCode::kInvalidXmlDocument);
    auto next = TRY(read_follow_up(node, queue, delay));
    follow_ups.push_back(std::move(next));
  }
  return follow_ups;
}

std::string render_put(const Placed& placed) {
  protocol::XmlWriter out;
  out.begin("QueueMessagesList").begin("QueueMessage");
  out.element("MessageId", placed.id)
      .element("InsertionTime", to_rfc1123(placed.inserted))
      .element("ExpirationTime", to_rfc1123(placed.expires))
      .element("PopReceipt", placed.receipt)
      .element("TimeNextVisible", to_rfc1123(placed.next_visible));
  return out.take();
}

namespace {
void write_message(protocol::XmlWriter& out, const Message& message, const std::string* receipt, bool detail) {
  out.begin("QueueMessage")
      .element("MessageId", message.id)
      .element("InsertionTime", to_rfc1123(message.inserted))
      .element("ExpirationTime", to_rfc1123(message.expires));
  if (receipt != nullptr) {
    out.element("PopReceipt", *receipt).element("TimeNextVisible", to_rfc1123(message.next_visible));
  }
  out.element("DequeueCount", message.dequeue_count).element("MessageText", message.text);
  if (detail) {
    if (receipt != nullptr) out.element("LeaseToken", lease_token(message));
    out.optional_element("GroupKey", message.group);
    if (is_xml_text(message.annotation)) out.optional_element("Annotation", message.annotation);
  }
  out.end();
}
}  // namespace

std::string render_taken(const std::vector<TakenMessage>& messages, bool detail) {
  protocol::XmlWriter out;
  out.begin("QueueMessagesList");
  for (const auto& taken : messages) write_message(out, taken.message, &taken.receipt, detail);
  return out.take();
}

std::string render_peeked(const std::vector<Message>& messages, bool detail) {
  protocol::XmlWriter out;
  out.begin("QueueMessagesList");
  for (const auto& message : messages) write_message(out, message, nullptr, detail);
  return out.take();
}

}  // namespace tidemark::queue_service::rest
