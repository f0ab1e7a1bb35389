#include "common/service/sas_signer.h"

#include <algorithm>

namespace tidemark::service {
namespace {

using Face = rpc::Face<SasSigner>;
constexpr Face::Handler kHandlers[] = {Face::on<SignSas, &SasSigner::sign>()};

}  // namespace

Result<SignedSas> SasSigner::sign(const std::string& account, const auth::SasGrant& grant) const {
  TRY(auth::check_grant(service_, grant, front_.now(), longest_));
  const auto known = front_.known_accounts();
  const auto found = std::ranges::find(known->accounts, account, &auth::Account::name);
  if (found == known->accounts.end() || found->keys.empty()) return fail(ErrorCode::kResourceNotFound);
  auto out = place_;
  out.query = auth::sign_grant(service_, *found, grant);
  return out;
}

rpc::Dispatch SasSigner::beside(rpc::Dispatch store) {
  return [own = rpc::make_dispatch(*this, kHandlers), store = std::move(store)](const std::string& method,
                                                                                std::string payload) {
    return method == SignSas::kMethod ? own(method, std::move(payload)) : store(method, std::move(payload));
  };
}

}  // namespace tidemark::service
