// The operations on containers.
#include "blob_store/rest/blob_body.h"
#include "blob_store/rest/blob_operations.h"
#include "blob_store/rest/blob_xml.h"
#include "blob_store/storage/served_calls.h"
#include "common/protocol/stored_policies.h"

namespace tidemark::blob_store::operations {
namespace {

constexpr std::string_view kContainerPermissions = "racwdxyltmeopfi";

Result<std::string> read_public_access(const Call& call) {
  auto access = call.header("x-ms-blob-public-access");
  if (!access.empty() && access != "container" && access != "blob") return fail(ErrorCode::kInvalidHeaderValue);
  return access;
}

http::Response version_response(unsigned status, const Stamp& version) {
  auto response = empty_response(status);
  add_version(response, version);
  return response;
}

http::Response access_response(const Container& container) {
  auto response = version_response(200, container.version);
  if (!container.public_access.empty()) response.set("x-ms-blob-public-access", container.public_access);
  return response;
}

}  // namespace

Answer create_container(Call& call) {
  auto access = CO_TRY(read_public_access(call));
  if (!access.empty()) CO_TRY(call.authorize(kAclNeed));
  const bool is_new =
      call.is_bounded() && call.service.get_container(call.container_ref()).failed_with(ErrorCode::kContainerNotFound);
  if (is_new) CO_TRY(call.admit_unit());
  co_return version_response(201, CO_TRY(co_await call.service.call(
                                      calls::CreateContainer{call.container_ref(), read_metadata(call.http), access})));
}

Answer delete_container(Call& call) {
  CO_TRY(co_await call.service.call(calls::DeleteContainer{call.container_ref(), read_conditions(call)}));
  co_return empty_response(202);
}

Answer get_container(Call& call) {
  const auto container = CO_TRY(call.service.get_container(call.container_ref(), read_conditions(call)));
  auto response = access_response(container);
  add_metadata(response, container.metadata);
  add_lease(response, container.lease, call.front.now());
  response.set("x-ms-has-immutability-policy", "false");
  response.set("x-ms-has-legal-hold", "false");
  co_return response;
}

Answer get_container_metadata(Call& call) {
  const auto container = CO_TRY(call.service.get_container(call.container_ref(), read_conditions(call)));
  auto response = version_response(200, container.version);
  add_metadata(response, container.metadata);
  co_return response;
}

Answer set_container_metadata(Call& call) {
  co_return version_response(200, CO_TRY(co_await call.service.call(calls::SetContainerMetadata{
                                      call.container_ref(), read_metadata(call.http), read_conditions(call)})));
}

Answer get_container_acl(Call& call) {
  const auto container = CO_TRY(call.service.get_container(call.container_ref(), read_conditions(call)));
  auto response = access_response(container);
  response.set("Content-Type", "application/xml");
  response.body = std::string(protocol::kXmlDeclaration) + protocol::render_stored_policies(container.policies);
  co_return response;
}

Answer set_container_acl(Call& call) {
  auto access = CO_TRY(read_public_access(call));
  auto text = CO_TRY(co_await receive_text(call, protocol::kMaxStoredPoliciesBytes));
  auto policies = CO_TRY(protocol::parse_stored_policies(text, kContainerPermissions));
  co_return version_response(
      200, CO_TRY(co_await call.service.call(calls::SetContainerAccess{call.container_ref(), std::move(access),
                                                                       std::move(policies), read_conditions(call)})));
}

}  // namespace tidemark::blob_store::operations
