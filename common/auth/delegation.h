// Keys for user delegation: a bearer of a token gets one, and signs SAS with it that grant no more than its roles.
// Nothing is stored about a key. It is derived from the account's key, from the fields that the SAS repeats in the open
// (whose key it is, its start and its expiry), and from the roles that the bearer had. A SAS does not name the roles;
// since there are only a few sets of roles, each of them is tried. So a SAS can do as much as its signer could do when
// it got the key. Pure.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "common/auth/roles.h"

namespace tidemark::auth {

struct DelegationKey {
  std::string_view object_id, tenant_id;
  std::string_view start, expiry;  // ISO 8601
  std::string_view service;        // "b", "q" or "t"
  std::string_view version;
};

/// Returns the signing key, derived from one of the account's keys.
std::string delegation_secret(std::string_view account_key, Roles roles, const DelegationKey& key);
/// Returns the roles of the bearer whose key has signed the text; nothing if no key has.
std::optional<Roles> delegated_roles(const Account& account, const DelegationKey& key, std::string_view text,
                                     std::string_view signature);

}  // namespace tidemark::auth
