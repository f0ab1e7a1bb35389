// Shared access signatures that are made here: the rights that a SAS grants, the check that it may grant them, and the
// signed query of its URL. The signed text is the one that sas.h checks. Pure.
#pragma once
#include <optional>
#include <string>

#include "common/auth/authenticator.h"

namespace tidemark::auth {

/// Unless a field says otherwise, an empty text restricts nothing. Times count to the second.
struct SasGrant {
  std::string services, resource_types;  // of an account SAS, letters of "bqt" and "sco"; empty: a service SAS
  std::string resource;                  // of a service SAS: table, queue, container or container/blob
  std::string permissions;               // letters
  std::optional<Time> start;
  Time expiry{};
  std::string addresses;                           // an IPv4 address, or two with '-' between them
  std::string protocol;                            // "https" or "https,http"
  std::string start_pk, start_rk, end_pk, end_rk;  // of a table

  [[nodiscard]] bool of_account() const { return !services.empty() || !resource_types.empty(); }
};

/// Checks a grant, which may last `longest` from now at most. The message of kInvalidInput says what to correct.
Result<void> check_grant(Service service, const SasGrant& grant, Time now, Duration longest);
/// Returns "sv=...&sig=...", signed with the account's first key, for a grant that was checked.
std::string sign_grant(Service service, const Account& account, const SasGrant& grant);

}  // namespace tidemark::auth
