// SharedKey and SharedKeyLite: what a client signs with the account key, rebuilt from the bytes on the wire. Clients
// differ in small ways (order of header names, of two lines, of the secondary's path); the usual spelling is tried
// first and the others only where the request makes them possible. Pure; refusals are kAuthenticationFailed and
// kInvalidAuthenticationInfo.
#pragma once
#include <string_view>

#include "common/auth/authenticator.h"

namespace tidemark::auth {

/// Verifies the value of the Authorization header, "SharedKey account:signature" or "SharedKeyLite ...".
Result<Identity> verify_shared_key(Service service, const SignedRequest& request, const Resource& resource,
                                   const Account& account, std::string_view authorization, Time now,
                                   const Policy& policy);

/// Order of header names in the canonical text: like a linguistic collation, '-' and ''' count only between names
/// that are otherwise equal. Names are in lower case.
bool collates_before(std::string_view a, std::string_view b);

}  // namespace tidemark::auth
