// Decides whether a known caller may do an operation.
#include <algorithm>

#include "common/auth/authenticator.h"
#include "common/auth/roles.h"
#include "common/base/encoding.h"

namespace tidemark::auth {
namespace {

bool grants(const Identity& identity, const Need& need) {
  const bool by_roles = !identity.object_id.empty(), by_sas = identity.scheme != Scheme::kBearer;
  const auto has = [&](char letter) {
    return (!by_sas || identity.permissions.contains(letter)) &&
           (!by_roles || roles_allow(identity.service, identity.roles, need.type, letter));
  };
  if (!need.all_of.empty()) return std::all_of(need.all_of.begin(), need.all_of.end(), has);
  return std::any_of(need.any_of.begin(), need.any_of.end(), has);
}

// Tells whether `name` is exactly the covered resource, or a blob in the covered container. Names of tables ignore
// case, names of queues and containers are lower case, and names of blobs distinguish case.
bool covers(std::string_view covered, std::string_view name) {
  const auto covered_slash = std::min(covered.find('/'), covered.size());
  const auto name_slash = std::min(name.find('/'), name.size());
  if (!iequals_ascii(covered.substr(0, covered_slash), name.substr(0, name_slash))) return false;
  return covered_slash == covered.size() || covered.substr(covered_slash) == name.substr(name_slash);
}

}  // namespace

Result<void> authorize(const Identity& identity, const Need& need, std::string_view resource_name) {
  if (identity.scheme == Scheme::kSharedKey) return {};
  if (identity.scheme == Scheme::kAnonymous) return fail(ErrorCode::kNoAuthenticationInformation);
  if (!need.any_sas) {
    return fail(identity.scheme == Scheme::kBearer ? ErrorCode::kAuthorizationPermissionMismatch
                                                   : ErrorCode::kAuthorizationFailure);
  }
  if (identity.scheme == Scheme::kAccountSas) {
    if (identity.resource_types.find(static_cast<char>(need.type)) == std::string::npos) {
      return fail(ErrorCode::kAuthorizationResourceTypeMismatch);
    }
  } else if (identity.scheme == Scheme::kServiceSas &&
             (!need.service_sas || identity.resource.empty() || !covers(identity.resource, resource_name))) {
    return fail(ErrorCode::kAuthorizationFailure);
  }
  if (!grants(identity, need)) return fail(ErrorCode::kAuthorizationPermissionMismatch);
  return {};
}

}  // namespace tidemark::auth
