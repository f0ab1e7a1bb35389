#include "common/auth/delegation.h"

#include "common/base/encoding.h"

namespace tidemark::auth {

std::string delegation_secret(std::string_view account_key, Roles roles, const DelegationKey& key) {
  std::string text = "tidemark user delegation key\n" + std::to_string(strongest(roles));
  for (const auto field : {key.object_id, key.tenant_id, key.start, key.expiry, key.service, key.version}) {
    text.push_back('\n');
    text.append(field);
  }
  return hmac_sha256(account_key, text);
}

std::optional<Roles> delegated_roles(const Account& account, const DelegationKey& key, std::string_view text,
                                     std::string_view signature) {
  std::optional<Roles> found;
  for (const auto& account_key : account.keys) {
    if (account_key.empty()) continue;  // anyone could derive from it
    for (Roles roles = 0; roles < kRolesEnd; ++roles) {
      if (strongest(roles) != roles) continue;
      const auto secret = delegation_secret(account_key, roles, key);
      if (constant_time_equal(base64_encode(hmac_sha256(secret, text)), signature)) found = roles;
    }
  }
  return found;
}

}  // namespace tidemark::auth
