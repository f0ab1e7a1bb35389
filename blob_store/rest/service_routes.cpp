// The account's operations: list containers, service properties, account information.
#include "blob_store/rest/blob_routes.h"
#include "common/base/xml_text.h"

namespace tidemark::blob_store {
namespace {

/// A document that brings its XML declaration along.
http::Response document_response(std::string document) {
  auto response = empty_response(200);
  response.set("Content-Type", "application/xml");
  response.body = std::move(document);
  return response;
}

std::string container_element(const NamedContainer& item, bool with_metadata) {
  const auto& c = item.container;
  auto out = "<Container>" + element("Name", item.name) + "<Properties>" +
             element("Last-Modified", to_rfc1123(c.version.time())) + element("Etag", "\"" + c.version.etag() + "\"") +
             "<LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState>";
  if (!c.public_access.empty()) out += element("PublicAccess", c.public_access);
  out += "<HasImmutabilityPolicy>false</HasImmutabilityPolicy><HasLegalHold>false</HasLegalHold></Properties>";
  if (with_metadata) out += metadata_element(c.metadata);
  return out + "</Container>";
}

Result<http::Response> list_containers(const Call& call) {
  TRY(call.authorize({auth::ResourceType::kService, "l", {}, false}));
  auto request = TRY(read_list_request(call));
  auto page = TRY(call.service.list_containers(call.account, request));
  auto body = "<EnumerationResults ServiceEndpoint=\"" + escaped(call.endpoint) + "\">";
  for (const auto& [parameter, name] :
       {std::pair{"prefix", "Prefix"}, {"marker", "Marker"}, {"maxresults", "MaxResults"}}) {
    if (const auto text = call.parameter(parameter); !text.empty()) body += element(name, text);
  }
  body += "<Containers>";
  for (const auto& item : page.items) body += container_element(item, includes(call, "metadata"));
  return xml_response(body + "</Containers>" + element("NextMarker", write_marker(page.next)) +
                      "</EnumerationResults>");
}

Answer set_properties(Call& call) {
  CO_TRY(call.authorize({auth::ResourceType::kService, "w", {}, false}));
  auto text = CO_TRY(co_await receive_text(call, protocol::kMaxServicePropertiesBytes));
  std::function<Result<std::string>(const std::string&)> change = [&](const std::string& stored) {
    return protocol::merge_service_properties(protocol::StoreKind::kBlob, stored, text);
  };
  CO_TRY(co_await call.service.set_service_properties(call.account, std::move(change)));
  call.cors.refresh(call.account, [&] { return call.service.get_service_properties(call.account); });
  co_return empty_response(202);
}

Result<http::Response> get_properties(const Call& call) {
  TRY(call.authorize({auth::ResourceType::kService, "r", {}, false}));
  auto stored = TRY(call.service.get_service_properties(call.account));
  return document_response(protocol::service_properties_document(protocol::StoreKind::kBlob, stored));
}

Result<http::Response> get_stats(const Call& call) {
  TRY(call.authorize({auth::ResourceType::kService, "r", {}, false}));
  if (!call.secondary) return fail(protocol::stats_need_secondary());
  return document_response(protocol::service_stats_document(call.now));
}

}  // namespace

Result<http::Response> account_info(const Call& call) {
  const auto type = call.container.empty() ? auth::ResourceType::kService
                    : call.blob.empty()    ? auth::ResourceType::kContainer
                                           : auth::ResourceType::kObject;
  TRY(call.authorize({type, "rwdlacup"}));
  auto response = empty_response(200);
  response.set("x-ms-sku-name", "Standard_LRS");
  response.set("x-ms-account-kind", "StorageV2");
  response.set("x-ms-is-hns-enabled", "false");
  return response;
}

Error unknown_operation(const Call& call) {
  static constexpr std::string_view kKnown[] = {"userdelegationkey",
                                                "batch",
                                                "blobs",
                                                "lease",
                                                "undelete",
                                                "rename",
                                                "page",
                                                "pagelist",
                                                "appendblock",
                                                "seal",
                                                "tags",
                                                "tier",
                                                "snapshot",
                                                "expiry",
                                                "immutabilityPolicies",
                                                "legalhold",
                                                "incrementalcopy",
                                                "copy",
                                                "query",
                                                "list",
                                                "properties",
                                                "metadata",
                                                "acl",
                                                "block",
                                                "blocklist"};
  const auto comp = call.parameter("comp");
  if (comp.empty()) return make_error(ErrorCode::kUnsupportedHttpVerb);
  if (std::find(std::begin(kKnown), std::end(kKnown), comp) != std::end(kKnown)) {
    return make_error(ErrorCode::kNotImplemented);
  }
  auto error = make_error(ErrorCode::kInvalidQueryParameterValue);
  error.fields = {{"QueryParameterName", "comp"}, {"QueryParameterValue", comp}};
  return error;
}

Answer serve_account(Call& call) {
  const auto comp = call.parameter("comp");
  const auto restype = call.parameter("restype");
  if (call.is_read() && comp == "list") co_return list_containers(call);
  if (call.is_read() && comp == "properties" && restype == "account") co_return account_info(call);
  if (call.is_read() && comp == "stats" && restype == "service") co_return get_stats(call);
  if (comp == "properties" && restype == "service") {
    if (call.is_read()) co_return get_properties(call);
    if (call.request.method == "PUT") {
      co_return co_await set_properties(call);
    }
  }
  co_return fail(unknown_operation(call));
}

}  // namespace tidemark::blob_store
