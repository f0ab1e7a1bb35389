// A shared access signature is a signed query string that grants some of the rights of the account key. This file has
// account SAS and service SAS of the versions since 2012-02-12. Nothing in a token is believed before its signature was
// verified. Pure, apart from the lookup of stored policies. Refusals are kAuthenticationFailed and
// kAuthorization*Mismatch.
#pragma once
#include <string_view>

#include "common/auth/authenticator.h"

namespace tidemark::auth {

/// The decoded parameters of a SAS, as views into the query. Absent ones are empty; the signature does not distinguish
/// these either.
struct SasFields {
  std::string_view sv, ss, srt, sp, st, se, sip, spr, ses, si, sig, sr, skoid;
  std::string_view tn, spk, srk, epk, erk;
  std::string_view rscc, rscd, rsce, rscl, rsct;
};

/// Refuses duplicate parameters and control characters, which could shift the boundaries of the signed fields.
Result<SasFields> parse_sas(const QueryParameters& parameters);

Result<Identity> verify_sas(Service service, const SignedRequest& request, const Resource& resource,
                            const Account& account, const SasFields& fields, Time now, bool https,
                            const PolicyLookup& find_policy);

/// Checks st <= now < se, sip and spr. `start` may be empty, `expiry` may not.
Result<void> check_conditions(std::string_view start, std::string_view expiry, const SasFields& fields,
                              std::string_view remote_address, bool https, Time now);

}  // namespace tidemark::auth
