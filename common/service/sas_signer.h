// Signs shared access signatures for the api, which has no account keys: a store answers the call below beside its own,
// with its own keys and its own clock, and no key ever leaves it.
#pragma once
#include "common/auth/sas_grant.h"
#include "common/rpc/call.h"
#include "common/service/front.h"

namespace tidemark::service {

struct SignedSas {
  std::string query;   // "sv=...&sig=..."
  std::string scheme;  // of the store's port: "http" or "https"
  std::string host;    // the host it listens on, with the brackets of IPv6; empty: all addresses of the machine
  std::uint16_t port = 0;
};

/// kInvalidInput; kResourceNotFound if the store does not have the account.
struct SignSas {
  static constexpr std::string_view kMethod = "sas.sign";
  using Reply = SignedSas;
  std::string account;
  auth::SasGrant grant;
};

/// A store that signs, as the api sees it. The transport must outlive it.
class SasClient {
  rpc::Caller caller_;

 public:
  SasClient(rpc::Transport& transport, std::string account)
      : caller_{transport, std::move(account), std::chrono::seconds(10)} {}
  SasClient(const SasClient&) = delete;
  SasClient& operator=(const SasClient&) = delete;

  rpc::Method<SignSas> sign{caller_};
};

/// Thread safe. The front must outlive it.
class SasSigner {
 public:
  /// `place` has the members of SignedSas other than the query.
  SasSigner(auth::Service service, const Front& front, Duration longest, SignedSas place)
      : service_(service), front_(front), longest_(longest), place_(std::move(place)) {}

  Result<SignedSas> sign(const std::string& account, const auth::SasGrant& grant) const;
  /// Answers SignSas, and passes all other calls to `store`.
  rpc::Dispatch beside(rpc::Dispatch store);

 private:
  const auth::Service service_;
  const Front& front_;
  const Duration longest_;
  const SignedSas place_;
};

}  // namespace tidemark::service
