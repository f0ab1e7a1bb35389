// Get User Delegation Key, which is the same in all three stores.
#include <pugixml.hpp>

#include "common/auth/delegation.h"
#include "common/auth/signature.h"
#include "common/base/encoding.h"
#include "common/protocol/protocol_errors.h"
#include "common/protocol/responses.h"
#include "common/protocol/xml.h"
#include "common/service/front.h"

namespace tidemark::service {
namespace {

// A client that asks for seven days may have a clock that is ahead, by as much as the clocks of requests may be.
constexpr auto kLongest = std::chrono::hours(7 * 24) + std::chrono::minutes(15);
constexpr std::size_t kMaxIdBytes = 128;

struct Lifetime {
  std::string start, expiry;
};

/// kInvalidXmlDocument, kInvalidXmlNodeValue, kMissingRequiredXmlNode.
Result<Lifetime> read_key_info(std::string_view body, Time now) {
  pugi::xml_document document;
  TRY(protocol::parse_xml(body, document));
  const auto root = document.document_element();
  if (std::string_view(root.name()) != "KeyInfo") return fail(ErrorCode::kInvalidXmlDocument);
  const std::string start = root.child("Start").text().get(), expiry = root.child("Expiry").text().get();
  if (expiry.empty()) return fail(protocol::missing_node("Expiry"));
  const auto from = start.empty() ? std::optional(now) : parse_iso8601(start);
  const auto until = parse_iso8601(expiry);
  if (!from) return fail(protocol::invalid_node("Start", start));
  // The limit counts from now, whenever the key begins: a token must not make keys for a time long after its own.
  if (!until || *until <= now || *until <= *from || *until - now > kLongest) {
    return fail(protocol::invalid_node("Expiry", expiry));
  }
  // Whole seconds, as clients write them into a SAS.
  return Lifetime{to_iso8601(std::chrono::floor<std::chrono::seconds>(*from)),
                  to_iso8601(std::chrono::floor<std::chrono::seconds>(*until))};
}

/// Tells whether an id can go into an XML document and into the lines of a text to sign.
bool is_plain(std::string_view id) {
  return id.size() <= kMaxIdBytes && std::ranges::all_of(id, [](char c) { return c > 0x20 && c < 0x7F; });
}

}  // namespace

Result<http::Response> Front::get_delegation_key(const Call& call, std::string_view body) const {
  const auto& who = call.identity;
  if (who.scheme != auth::Scheme::kBearer) {
    return fail(auth::authentication_failed("Only the bearer of a token gets a user delegation key."));
  }
  if (!is_plain(who.object_id) || !is_plain(who.tenant_id)) {
    return fail(auth::authentication_failed("The ids in the token (oid, tid) are not fit for a user delegation key."));
  }
  const auto lifetime = TRY(read_key_info(body, now()));
  constexpr std::string_view kLetters[] = {"b", "q", "t"};
  const auto version = who.version.empty() ? std::string(dialect_.newest_version) : who.version;
  const auth::DelegationKey key{who.object_id,
                                who.tenant_id,
                                lifetime.start,
                                lifetime.expiry,
                                kLetters[static_cast<std::size_t>(dialect_.service)],
                                version};
  const auto& accounts = call.known->accounts;
  const auto account = std::ranges::find(accounts, call.account(), &auth::Account::name);
  if (account == accounts.end() || account->keys.empty()) return fail(ErrorCode::kAuthenticationFailed);
  protocol::XmlWriter out;
  out.begin("UserDelegationKey")
      .element("SignedOid", key.object_id)
      .element("SignedTid", key.tenant_id)
      .element("SignedStart", key.start)
      .element("SignedExpiry", key.expiry)
      .element("SignedService", key.service)
      .element("SignedVersion", key.version)
      .element("Value", base64_encode(auth::delegation_secret(account->keys.front(), who.roles, key)))
      .end();
  return protocol::xml_response(200, out.take());
}

}  // namespace tidemark::service
