#include "queue_service/rest/queue_xml.h"

#include <pugixml.hpp>

#include "common/base/encoding.h"

namespace tidemark::queue_service::rest {
namespace {

// The largest legitimate body has about 200; the parser's own recursion must stay shallow.
constexpr std::size_t kMaxTags = 2000;
constexpr std::size_t kMaxPolicyIdLength = 64;

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

Result<std::string> read_message_text(std::string_view body) {
  pugi::xml_document document;
  auto parsed = parse_xml(body, document);
  if (!parsed) return fail(std::move(parsed.error()));
  const auto root = document.document_element();
  if (std::string_view(root.name()) != "QueueMessage") return fail(ErrorCode::kInvalidXmlDocument);
  const auto node = root.child("MessageText");
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
  for (const char c : text) {
    switch (c) {
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
      case '\r':
        out += "&#xD;";  // a bare one would be read as a line feed
        break;
      default:
        out.push_back(c);
    }
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
void append_message(std::string& out, const Message& message, const std::string* receipt) {
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
  out += "</QueueMessage>";
}
}  // namespace

std::string render_taken(const std::vector<TakenMessage>& messages) {
  std::string out(kXmlDeclaration);
  if (messages.empty()) return out + "<QueueMessagesList />";
  out += "<QueueMessagesList>";
  for (const auto& taken : messages) append_message(out, taken.message, &taken.receipt);
  return out + "</QueueMessagesList>";
}

std::string render_peeked(const std::vector<Message>& messages) {
  std::string out(kXmlDeclaration);
  if (messages.empty()) return out + "<QueueMessagesList />";
  out += "<QueueMessagesList>";
  for (const auto& message : messages) append_message(out, message, nullptr);
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
