// A shared access signature is a signed query string that grants some of the rights of the account key. This file has
// account SAS and service SAS of the versions since 2012-02-12, and user delegation SAS (delegation.h). Nothing in a
// token is believed before its signature is verified. Pure, apart from the lookup of stored policies. Refusals are
// kAuthenticationFailed and kAuthorization*Mismatch.
#pragma once
#include <string_view>

#include "common/auth/authenticator.h"

namespace tidemark::auth {

/// The decoded parameters of a SAS, as views into the query. Absent parameters are empty; the signature does not
/// distinguish the two either.
struct SasFields {
  std::string_view sv, ss, srt, sp, st, se, sip, spr, ses, si, sig, sr;
  std::string_view snapshot;  // named by the URL
  std::string_view tn, spk, srk, epk, erk;
  std::string_view rscc, rscd, rsce, rscl, rsct;
  // User delegation: the key, the user for whom it was meant, and the headers and query parameters that the request
  // must have.
  std::string_view skoid, sktid, skt, ske, sks, skv;
  std::string_view saoid, suoid, scid, skdutid, sduoid, srh, srq;
};

/// Refuses duplicate parameters and control characters, which could shift the boundaries of the signed fields.
Result<SasFields> parse_sas(const QueryParameters& parameters);

Result<Identity> verify_sas(Service service, const SignedRequest& request, const Resource& resource,
                            const Account& account, const SasFields& fields, Time now, bool https,
                            const PolicyLookup& find_policy);

/// Returns the fields as a query, with the signature by the account's first key. `resource`: the resource that a
/// service SAS covers, as in Identity; empty for an account SAS.
std::string sign_sas(Service service, const Account& account, const SasFields& fields, std::string_view resource);
/// Tells whether the text is an IPv4 address, or two with '-' between them.
bool is_address_range(std::string_view text);

/// Checks skt <= now < ske of a user delegation key.
Result<void> check_key_dates(const SasFields& fields, Time now);

/// Checks st <= now < se, sip and spr. `start` may be empty, `expiry` may not.
Result<void> check_conditions(std::string_view start, std::string_view expiry, const SasFields& fields,
                              std::string_view remote_address, bool https, Time now);

}  // namespace tidemark::auth
