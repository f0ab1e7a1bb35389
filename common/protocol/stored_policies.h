// Stored access policies of a container, queue or table: their XML, and their form in a row. Pure. Limits and elements:
// the services' REST documentation, "Set Container ACL", "Set Queue ACL", "Set Table ACL".
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/stored_policy.h"

namespace tidemark::protocol {

inline constexpr std::size_t kMaxStoredPolicies = 5;
/// Larger bodies are refused.
inline constexpr std::size_t kMaxStoredPoliciesBytes = 64UL << 10;
inline constexpr std::size_t kMaxPolicyIdLength = 64;  // UTF-16 units

/// An empty body has no policies. `letters` are the permissions of this kind of resource. kInvalidXmlDocument if it is
/// malformed or has more than five policies; kInvalidXmlNodeValue names the element.
Result<StoredPolicies> parse_stored_policies(std::string_view xml, std::string_view letters);
/// Renders the policies without the XML declaration.
std::string render_stored_policies(const StoredPolicies& policies);
std::optional<StoredPolicy> find_policy(const StoredPolicies& policies, std::string_view id);

/// The policies as fields of a record (common/base/record.h).
template <class Io, class Policies>
void policy_fields(Io& io, Policies& policies) {
  io.list(policies, [&](auto& policy) {
    io.string(policy.id);
    for (auto* term : {&policy.start, &policy.expiry, &policy.permission}) {
      io.optional(*term, [&](auto& text) { io.string(text); });
    }
  });
}

}  // namespace tidemark::protocol
