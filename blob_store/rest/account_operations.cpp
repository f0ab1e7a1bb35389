// The operations on an account: list of containers, service properties, account information.
#include "blob_store/rest/blob_body.h"
#include "blob_store/rest/blob_operations.h"
#include "blob_store/rest/blob_xml.h"

namespace tidemark::blob_store::operations {
namespace {

void write_container(protocol::XmlWriter& out, const NamedContainer& item, bool with_metadata, Time now) {
  const auto& c = item.container;
  const auto state = c.lease.state(now);
  out.begin("Container").element("Name", item.name).begin("Properties");
  out.element("Last-Modified", to_rfc1123(c.version.time()))
      .element("Etag", "\"" + c.version.etag() + "\"")
      .element("LeaseStatus", c.lease.locked(now) ? "locked" : "unlocked")
      .element("LeaseState", name_of(state));
  if (state == LeaseState::kLeased) out.element("LeaseDuration", c.lease.duration_s < 0 ? "infinite" : "fixed");
  out.optional_element("PublicAccess", c.public_access)
      .raw("<HasImmutabilityPolicy>false</HasImmutabilityPolicy><HasLegalHold>false</HasLegalHold>")
      .end();
  if (with_metadata) write_metadata(out, c.metadata);
  out.end();
}

}  // namespace

Answer get_account(Call&) {
  auto response = empty_response(200);
  response.set("x-ms-sku-name", "Standard_LRS");
  response.set("x-ms-account-kind", "StorageV2");
  response.set("x-ms-is-hns-enabled", "false");
  co_return response;
}

Answer list_containers(Call& call) {
  CO_TRY(check_included(call, {"metadata", "deleted", "system"}));
  auto request = CO_TRY(read_list_request(call));
  request.with_system = includes(call, "system");
  auto page = CO_TRY(call.service.list_containers(call.account(), request));
  protocol::XmlWriter out;
  begin_list(out, call);
  out.begin("Containers");
  for (const auto& item : page.items) write_container(out, item, includes(call, "metadata"), call.front.now());
  out.end().element("NextMarker", write_marker(page.next));
  co_return xml_response(200, out.take());
}

Answer get_service_properties(Call& call) { co_return call.front.get_properties(call); }

Answer set_service_properties(Call& call) {
  co_return co_await call.front.set_properties(
      call, CO_TRY(co_await receive_text(call, protocol::kMaxServicePropertiesBytes)));
}

Answer get_delegation_key(Call& call) {
  const auto body = CO_TRY(co_await receive_text(call, service::kMaxKeyInfoBytes));
  co_return call.front.get_delegation_key(call, body);
}

Answer get_stats(Call& call) { co_return call.front.get_stats(call); }

}  // namespace tidemark::blob_store::operations
