// SharedKey and SharedKeyLite: rebuilds the text that the client has signed with the account key from the bytes on the
// wire. Clients differ in small ways: the order of header names, the order of two lines, the path of the secondary. The
// usual form is tried first, and the other forms only if the request makes them possible. Pure. Refusals are
// kAuthenticationFailed and kInvalidAuthenticationInfo.
#pragma once
#include <string_view>

#include "common/auth/authenticator.h"

namespace tidemark::auth {

/// Verifies the value of the Authorization header, "SharedKey account:signature" or "SharedKeyLite ...".
Result<Identity> verify_shared_key(Service service, const SignedRequest& request, const Resource& resource,
                                   const Account& account, std::string_view authorization, Time now,
                                   const Policy& policy);

/// Orders header names as in the canonical text. As in a linguistic collation, '-' and ''' count only between names
/// that are otherwise equal. Names are in lower case.
bool collates_before(std::string_view a, std::string_view b);

}  // namespace tidemark::auth
