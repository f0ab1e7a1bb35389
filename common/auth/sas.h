// Shared access signatures: a signed query string that grants a part of what the account key could. Account SAS and
// service SAS of the versions since 2012-02-12; nothing in a token is believed before its signature matched. Pure
// apart from the lookup of stored policies. Refusals are kAuthenticationFailed and kAuthorization*Mismatch.
#pragma once
#include <string_view>

#include "common/auth/authenticator.h"

namespace tidemark::auth {

/// The parameters of a SAS, decoded; empty where absent (the signature does not tell them apart either). Views into the
/// query.
struct SasFields {
  std::string_view sv, ss, srt, sp, st, se, sip, spr, ses, si, sig, sr, skoid;
  std::string_view tn, spk, srk, epk, erk;
  std::string_view rscc, rscd, rsce, rscl, rsct;
};

/// Refuses parameters given twice and control characters, which could move the borders of the signed fields.
Result<SasFields> parse_sas(const QueryParameters& parameters);

Result<Identity> verify_sas(Service service, const SignedRequest& request, const Resource& resource,
                            const Account& account, const SasFields& fields, Time now, bool https,
                            const PolicyLookup& find_policy);

/// st <= now < se, sip and spr. `start` may be empty, `expiry` may not.
Result<void> check_conditions(std::string_view start, std::string_view expiry, const SasFields& fields,
                              std::string_view remote_address, bool https, Time now);

}  // namespace tidemark::auth
