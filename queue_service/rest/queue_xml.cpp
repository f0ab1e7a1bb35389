#include "queue_service/rest/queue_xml.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <pugixml.hpp>

#include "common/base/encoding.h"
#include "queue_service/rest/message_extensions.h"

namespace tidemark::queue_service::rest {
namespace {

// The largest legitimate body has about 200; the parser's own recursion must stay shallow.
constexpr std::size_t kMaxTags = 2000;
constexpr std::size_t kMaxPolicyIdLength = 64;

/// One look a byte: texts are long, and find_first_of() searches its set for each byte of them.
class ByteSet {
 public:
  constexpr explicit ByteSet(std::string_view bytes) {
    for (const char c : bytes) has_[static_cast<unsigned char>(c)] = true;
  }
  [[nodiscard]] constexpr bool operator()(char c) const { return has_[static_cast<unsigned char>(c)]; }
  [[nodiscard]] std::size_t find_first(std::string_view text) const {
    const auto found = std::find_if(text.begin(), text.end(), [this](char c) { return (*this)(c); });
    return static_cast<std::size_t>(found - text.begin());
  }

 private:
  std::array<bool, 256> has_{};
};
constexpr ByteSet kEscaped("&<>\"\r");
constexpr ByteSet kParsed("&<\r");

bool is_known_reference(std::string_view text) {  // begins after '&'
  const auto end = text.find(';');
  if (end == std::string_view::npos || end == 0 || end > 10) return false;
  const auto name = text.substr(0, end);
  if (name == "lt" || name == "gt" || name == "amp" || name == "quot" || name == "apos") return true;
  if (name[0] != '#' || name.size() < 2) return false;
  const bool hex = name[1] == 'x';
  const auto digits = name.substr(hex ? 2 : 1);
  std::uint32_t code = 0;
  for (const char c : digits) {
    const bool decimal = c >= '0' && c <= '9';
    const char lower = static_cast<char>(c | 0x20);
    if (!decimal && !(hex && lower >= 'a' && lower <= 'f')) return false;
    code = code * (hex ? 16 : 10) + static_cast<std::uint32_t>(decimal ? c - '0' : lower - 'a' + 10);
    if (code > 0x10FFFF) return false;
  }
  if (digits.empty() || (code >= 0xD800 && code <= 0xDFFF) || code == 0xFFFE || code == 0xFFFF) return false;
  return code >= 0x20 || code == 9 || code == 10 || code == 13;
}

// The parser underneath is lenient; this is what it would let pass.
bool is_acceptable(std::string_view body) {
  if (!is_xml_text(body)) return false;
  std::size_t tags = 0;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i] == '&' && !is_known_reference(body.substr(i + 1))) return false;
    if (body[i] != '<') continue;
    const auto rest = body.substr(i);
    if (rest.starts_with("<![CDATA[")) {
      const auto end = rest.find("]]>");
      if (end == std::string_view::npos) return false;
      i += end + 2;
    } else if (rest.starts_with("<!DOCTYPE") || ++tags > kMaxTags) {
      return false;
    }
  }
  return true;
}

bool is_date(const std::optional<std::string>& text) { return !text || parse_iso8601(*text).has_value(); }

std::optional<std::string> optional_child(const pugi::xml_node& node, const char* name) {
  const auto child = node.child(name);
  if (!child || child.text().empty()) return std::nullopt;
  return std::string(child.text().get());
}

Error bad_node(std::string_view name, std::string_view value) {
  auto error = make_error(ErrorCode::kInvalidXmlNodeValue);
  error.fields.emplace_back("XmlNodeName", name);
  error.fields.emplace_back("XmlNodeValue", value);
  return error;
}

}  // namespace

Result<void> parse_xml(std::string_view body, pugi::xml_document& document) {
  if (body.starts_with("\xEF\xBB\xBF")) body.remove_prefix(3);
  if (!is_acceptable(body)) return fail(ErrorCode::kInvalidXmlDocument);
  constexpr unsigned kFlags =
      pugi::parse_escapes | pugi::parse_cdata | pugi::parse_ws_pcdata | pugi::parse_eol | pugi::parse_wconv_attribute;
  const auto parsed = document.load_buffer(body.data(), body.size(), kFlags, pugi::encoding_utf8);
  if (!parsed || !document.document_element()) return fail(ErrorCode::kInvalidXmlDocument);
  return {};
}

namespace {

/// The text of a body as the SDKs write it when nothing in it needs care; nothing for any other body.
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
  if (!node) {
    auto error = make_error(ErrorCode::kMissingRequiredXmlNode);
    error.fields.emplace_back("XmlNodeName", "MessageText");
    return fail(std::move(error));
  }
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
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (status != std::errc() || end != text->data() + text->size() || value < min || value > max) {
    return fail(bad_node(name, *text));
  }
  return std::optional(value);
}

Result<FollowUp> read_follow_up(const pugi::xml_node& node, const std::string& queue, Duration delay) {
  FollowUp next;
  next.queue = optional_child(node, "QueueName").value_or(queue);
  auto text = text_of(node);
  if (!text) return fail(std::move(text.error()));
  next.message.text = std::move(*text);
  auto visibility = number_child(node, "VisibilityTimeout", 0, 604800);
  if (!visibility) return fail(std::move(visibility.error()));
  next.message.delay = *visibility ? Duration(std::chrono::seconds(**visibility)) : delay;
  auto life = number_child(node, "MessageTimeToLive", -1, INT32_MAX);
  if (!life) return fail(std::move(life.error()));
  const auto life_s = life->value_or(604800);
  if (life_s == 0) return fail(bad_node("MessageTimeToLive", "0"));
  if (life_s > 0) next.message.time_to_live = std::chrono::seconds(life_s);
  next.message.group = optional_child(node, "GroupKey").value_or(std::string());
  next.message.idempotency_key = optional_child(node, "IdempotencyKey").value_or(std::string());
  return next;
}

}  // namespace

Result<std::string> read_message_text(std::string_view body) {
  if (const auto plain = plain_message_text(body)) return std::string(*plain);
  pugi::xml_document document;
  auto parsed = parse_xml(body, document);
  if (!parsed) return fail(std::move(parsed.error()));
  const auto root = document.document_element();
  if (std::string_view(root.name()) != "QueueMessage") return fail(ErrorCode::kInvalidXmlDocument);
  return text_of(root);
}

Result<std::vector<FollowUp>> read_follow_ups(std::string_view body, const std::string& queue, Duration delay) {
  std::vector<FollowUp> follow_ups;
  if (body.empty()) return follow_ups;
  pugi::xml_document document;
  auto parsed = parse_xml(body, document);
  if (!parsed) return fail(std::move(parsed.error()));
  const auto root = document.document_element();
  const bool one = std::string_view(root.name()) == "QueueMessage";
  if (!one && std::string_view(root.name()) != "QueueMessagesList") return fail(ErrorCode::kInvalidXmlDocument);
  for (auto node = one ? root : root.child("QueueMessage"); node;
       node = one ? pugi::xml_node() : node.next_sibling("QueueMessage")) {
    if (follow_ups.size() == kMaxFollowUps) return fail(ErrorCode::kInvalidXmlDocument);
    auto next = read_follow_up(node, queue, delay);
    if (!next) return fail(std::move(next.error()));
    follow_ups.push_back(std::move(*next));
  }
  return follow_ups;
}

Result<std::vector<SignedIdentifier>> read_acl(std::string_view body) {
  std::vector<SignedIdentifier> acl;
  if (body.empty()) return acl;
  pugi::xml_document document;
  auto parsed = parse_xml(body, document);
  if (!parsed) return fail(std::move(parsed.error()));
  const auto root = document.document_element();
  if (std::string_view(root.name()) != "SignedIdentifiers") return fail(ErrorCode::kInvalidXmlDocument);
  for (const auto& node : root.children("SignedIdentifier")) {
    if (acl.size() == kMaxPolicies) return fail(ErrorCode::kInvalidXmlDocument);
    SignedIdentifier policy;
    policy.id = optional_child(node, "Id").value_or(std::string());
    if (policy.id.empty() || utf16_length(policy.id) > kMaxPolicyIdLength) return fail(bad_node("Id", policy.id));
    for (const auto& other : acl) {
      if (other.id == policy.id) return fail(bad_node("Id", policy.id));
    }
    const auto rules = node.child("AccessPolicy");
    policy.start = optional_child(rules, "Start");
    policy.expiry = optional_child(rules, "Expiry");
    policy.permission = optional_child(rules, "Permission");
    if (!is_date(policy.start)) return fail(bad_node("Start", *policy.start));
    if (!is_date(policy.expiry)) return fail(bad_node("Expiry", *policy.expiry));
    if (policy.permission && policy.permission->find_first_not_of("raup") != std::string::npos) {
      return fail(bad_node("Permission", *policy.permission));
    }
    acl.push_back(std::move(policy));
  }
  return acl;
}

void append_escaped(std::string& out, std::string_view text) {
  for (;;) {
    const auto special = kEscaped.find_first(text);
    out.append(text.substr(0, special));
    if (special == text.size()) return;
    switch (text[special]) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += "&#xD;";  // a bare one would be read as a line feed
    }
    text.remove_prefix(special + 1);
  }
}

void append_element(std::string& out, std::string_view name, std::string_view text) {
  out.append("<").append(name).append(">");
  append_escaped(out, text);
  out.append("</").append(name).append(">");
}

std::string render_acl(const std::vector<SignedIdentifier>& acl) {
  std::string out(kXmlDeclaration);
  if (acl.empty()) return out + "<SignedIdentifiers />";
  out += "<SignedIdentifiers>";
  for (const auto& policy : acl) {
    out += "<SignedIdentifier>";
    append_element(out, "Id", policy.id);
    out += "<AccessPolicy>";
    auto date = [&](std::string_view name, const std::optional<std::string>& text) {
      if (!text) return;
      const auto time = parse_iso8601(*text);
      append_element(out, name, time ? to_iso8601_7digits(*time) : *text);
    };
    date("Start", policy.start);
    date("Expiry", policy.expiry);
    if (policy.permission) append_element(out, "Permission", *policy.permission);
    out += "</AccessPolicy></SignedIdentifier>";
  }
  return out + "</SignedIdentifiers>";
}

std::string render_put(const Placed& placed) {
  std::string out(kXmlDeclaration);
  out += "<QueueMessagesList><QueueMessage>";
  append_element(out, "MessageId", placed.id);
  append_element(out, "InsertionTime", to_rfc1123(placed.inserted));
  append_element(out, "ExpirationTime", to_rfc1123(placed.expires));
  append_element(out, "PopReceipt", placed.receipt);
  append_element(out, "TimeNextVisible", to_rfc1123(placed.next_visible));
  return out + "</QueueMessage></QueueMessagesList>";
}

namespace {
void append_message(std::string& out, const Message& message, const std::string* receipt, bool detail) {
  out += "<QueueMessage>";
  append_element(out, "MessageId", message.id);
  append_element(out, "InsertionTime", to_rfc1123(message.inserted));
  append_element(out, "ExpirationTime", to_rfc1123(message.expires));
  if (receipt != nullptr) {
    append_element(out, "PopReceipt", *receipt);
    append_element(out, "TimeNextVisible", to_rfc1123(message.next_visible));
  }
  append_element(out, "DequeueCount", std::to_string(message.dequeue_count));
  append_element(out, "MessageText", message.text);
  if (detail) {
    if (receipt != nullptr) append_element(out, "LeaseToken", lease_token(message));
    if (!message.group.empty()) append_element(out, "GroupKey", message.group);
    if (!message.annotation.empty() && is_xml_text(message.annotation)) {
      append_element(out, "Annotation", message.annotation);
    }
  }
  out += "</QueueMessage>";
}
}  // namespace

std::string render_taken(const std::vector<TakenMessage>& messages, bool detail) {
  std::string out(kXmlDeclaration);
  if (messages.empty()) return out + "<QueueMessagesList />";
  out += "<QueueMessagesList>";
  for (const auto& taken : messages) append_message(out, taken.message, &taken.receipt, detail);
  return out + "</QueueMessagesList>";
}

std::string render_peeked(const std::vector<Message>& messages, bool detail) {
  std::string out(kXmlDeclaration);
  if (messages.empty()) return out + "<QueueMessagesList />";
  out += "<QueueMessagesList>";
  for (const auto& message : messages) append_message(out, message, nullptr, detail);
  return out + "</QueueMessagesList>";
}

std::string render_error(const Error& error, std::string_view request_id, Time now) {
  std::string out(kXmlDeclaration);
  out += "<Error>";
  append_element(out, "Code", azure_name_of(error.code));
  std::string message = error.message.empty() ? std::string(default_message_of(error.code)) : error.message;
  message.append("\nRequestId:").append(request_id).append("\nTime:").append(to_iso8601_7digits(now));
  append_element(out, "Message", message);
  for (const auto& [name, value] : error.fields) append_element(out, name, is_xml_text(value) ? value : "");
  return out + "</Error>";
}

}  // namespace tidemark::queue_service::rest
