#include "common/protocol/stored_policies.h"

#include <algorithm>
#include <pugixml.hpp>

#include "common/base/encoding.h"
#include "common/base/time.h"
#include "common/protocol/protocol_errors.h"
#include "common/protocol/xml.h"

namespace tidemark::protocol {
namespace {

std::optional<std::string> text_of(const pugi::xml_node& node, const char* name) {
  const auto text = node.child(name).text();
  if (text.empty()) return std::nullopt;
  return std::string(text.get());
}

Result<StoredPolicy> parse_policy(const pugi::xml_node& node, std::string_view letters) {
  const auto terms = node.child("AccessPolicy");
  StoredPolicy policy{text_of(node, "Id").value_or(""), text_of(terms, "Start"), text_of(terms, "Expiry"),
                      text_of(terms, "Permission")};
  if (policy.id.empty() || utf16_length(policy.id) > kMaxPolicyIdLength) return fail(invalid_node("Id", policy.id));
  if (policy.start && !parse_iso8601(*policy.start)) return fail(invalid_node("Start", *policy.start));
  if (policy.expiry && !parse_iso8601(*policy.expiry)) return fail(invalid_node("Expiry", *policy.expiry));
  if (policy.permission && policy.permission->find_first_not_of(letters) != std::string::npos) {
    return fail(invalid_node("Permission", *policy.permission));
  }
  return policy;
}

void write_date(XmlWriter& out, std::string_view name, const std::optional<std::string>& date) {
  if (!date) return;
  const auto time = parse_iso8601(*date);
  out.element(name, time ? to_iso8601_7digits(*time) : *date);
}

}  // namespace

Result<StoredPolicies> parse_stored_policies(std::string_view xml, std::string_view letters) {
  StoredPolicies policies;
  if (xml.empty()) return policies;
  pugi::xml_document document;
  TRY(parse_xml(xml, document));
  const auto root = document.document_element();
  if (std::string_view(root.name()) != "SignedIdentifiers") return fail(ErrorCode::kInvalidXmlDocument);
  for (const auto& node : root.children("SignedIdentifier")) {
    if (policies.size() == kMaxStoredPolicies) return fail(ErrorCode::kInvalidXmlDocument);
    auto policy = TRY(parse_policy(node, letters));
    if (find_policy(policies, policy.id)) return fail(invalid_node("Id", policy.id));
    policies.push_back(std::move(policy));
  }
  return policies;
}

std::string render_stored_policies(const StoredPolicies& policies) {
  XmlWriter out("");
  out.begin("SignedIdentifiers");
  for (const auto& policy : policies) {
    out.begin("SignedIdentifier").element("Id", policy.id);
    if (policy.start || policy.expiry || policy.permission) {
      out.begin("AccessPolicy");
      write_date(out, "Start", policy.start);
      write_date(out, "Expiry", policy.expiry);
      if (policy.permission) out.element("Permission", *policy.permission);
      out.end();
    }
    out.end();
  }
  return out.take();
}

std::optional<StoredPolicy> find_policy(const StoredPolicies& policies, std::string_view id) {
  const auto found = std::ranges::find(policies, id, &StoredPolicy::id);
  return found == policies.end() ? std::nullopt : std::optional(*found);
}

}  // namespace tidemark::protocol
