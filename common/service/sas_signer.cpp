#include "common/service/sas_signer.h"

#include <algorithm>

namespace tidemark::service {
namespace {

using SasFace = rpc::Face<SasSigner>;
constexpr SasFace::Handler kSasHandlers[] = {SasFace::on<SignSas, &SasSigner::sign>()};

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
  return rpc::make_dispatch(*this, kSasHandlers, std::move(store));
}

}  // namespace tidemark::service
