// The operations on containers, and the list of their blobs.
#include "blob_store/model/names.h"
#include "blob_store/rest/blob_routes.h"
#include "common/base/xml_text.h"
#include "common/protocol/stored_policies.h"

namespace tidemark::blob_store {
namespace {

constexpr std::string_view kContainerPermissions = "racwdxyltmeopfi";
using auth::ResourceType;

Result<std::string> read_public_access(const Call& call) {
  auto access = call.header("x-ms-blob-public-access");
  if (!access.empty() && access != "container" && access != "blob") return fail(ErrorCode::kInvalidHeaderValue);
  return access;
}

http::Response version_response(unsigned status, const Version& version) {
  auto response = empty_response(status);
  add_version(response, version);
  return response;
}

Answer create(Call& call) {
  CO_TRY(call.authorize({ResourceType::kContainer, "cw", {}, false}));
  auto metadata = CO_TRY(read_metadata(call));
  auto access = CO_TRY(read_public_access(call));
  auto version =
      CO_TRY(co_await call.service.create_container(call.container_ref(), std::move(metadata), std::move(access)));
  co_return version_response(201, version);
}

Answer remove(Call& call) {
  CO_TRY(call.authorize({ResourceType::kContainer, "d", {}, false}));
  CO_TRY(co_await call.service.delete_container(call.container_ref(), read_conditions(call)));
  co_return empty_response(202);
}

Result<http::Response> get_properties(const Call& call, bool metadata_only) {
  TRY(call.authorize({ResourceType::kContainer, "r", {}, false}));
  auto container = TRY(call.service.get_container(call.container_ref()));
  auto response = version_response(200, container.version);
  add_metadata(response, container.metadata);
  if (metadata_only) return response;
  response.set("x-ms-lease-status", "unlocked");
  response.set("x-ms-lease-state", "available");
  if (!container.public_access.empty()) response.set("x-ms-blob-public-access", container.public_access);
  response.set("x-ms-has-immutability-policy", "false");
  response.set("x-ms-has-legal-hold", "false");
  return response;
}

Answer set_metadata(Call& call) {
  CO_TRY(call.authorize({ResourceType::kContainer, "w", {}, false}));
  auto metadata = CO_TRY(read_metadata(call));
  auto version = CO_TRY(
      co_await call.service.set_container_metadata(call.container_ref(), std::move(metadata), read_conditions(call)));
  co_return version_response(200, version);
}

Result<http::Response> get_acl(const Call& call) {
  TRY(call.authorize({ResourceType::kContainer, "", {}, false, false}));
  auto container = TRY(call.service.get_container(call.container_ref()));
  auto response = xml_response(protocol::render_stored_policies(container.policies));
  add_version(response, container.version);
  if (!container.public_access.empty()) response.set("x-ms-blob-public-access", container.public_access);
  return response;
}

Answer set_acl(Call& call) {
  CO_TRY(call.authorize({ResourceType::kContainer, "", {}, false, false}));
  auto access = CO_TRY(read_public_access(call));
  auto text = CO_TRY(co_await receive_text(call, protocol::kMaxStoredPoliciesBytes));
  auto policies = CO_TRY(protocol::parse_stored_policies(text, kContainerPermissions));
  auto version = CO_TRY(co_await call.service.set_container_access(call.container_ref(), std::move(access),
                                                                   std::move(policies), read_conditions(call)));
  co_return version_response(200, version);
}

std::string blob_element(const ListedBlob& item, bool with_metadata) {
  if (!item.blob) return "<BlobPrefix>" + name_element(item.name) + "</BlobPrefix>";
  const auto& blob = *item.blob;
  const auto& h = blob.headers;
  auto out = "<Blob>" + name_element(item.name) + "<Properties>" +
             element("Creation-Time", to_rfc1123(blob.created.time())) +
             element("Last-Modified", to_rfc1123(blob.version.time())) + element("Etag", blob.version.etag()) +
             element("Content-Length", std::to_string(blob.size)) + element("Content-Type", h.type) +
             element("Content-Encoding", h.encoding) + element("Content-Language", h.language) +
             element("Content-MD5", h.md5) + element("Cache-Control", h.cache_control) +
             element("Content-Disposition", h.disposition) +
             "<BlobType>BlockBlob</BlobType><AccessTier>Hot</AccessTier><AccessTierInferred>true</AccessTierInferred>"
             "<LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState>"
             "<ServerEncrypted>true</ServerEncrypted></Properties>";
  if (with_metadata) out += metadata_element(blob.metadata);
  return out + "</Blob>";
}

Result<http::Response> list(const Call& call) {
  TRY(call.authorize({ResourceType::kContainer, "l"}));
  auto request = TRY(read_list_request(call));
  request.delimiter = call.parameter("delimiter");
  auto page = TRY(call.service.list_blobs(call.container_ref(), request));
  auto body = "<EnumerationResults ServiceEndpoint=\"" + escaped(call.endpoint) + "\" ContainerName=\"" +
              escaped(call.container) + "\">";
  for (const auto& [parameter, name] : {std::pair{"prefix", "Prefix"},
                                        {"marker", "Marker"},
                                        {"maxresults", "MaxResults"},
                                        {"delimiter", "Delimiter"}}) {
    if (const auto text = call.parameter(parameter); !text.empty()) body += element(name, text);
  }
  body += "<Blobs>";
  for (const auto& item : page.items) body += blob_element(item, includes(call, "metadata"));
  return xml_response(body + "</Blobs>" + element("NextMarker", write_marker(page.next)) + "</EnumerationResults>");
}

}  // namespace

Answer serve_container(Call& call) {
  const auto comp = call.parameter("comp");
  const auto restype = call.parameter("restype");
  CO_TRY(check_container_name(call.container));
  if (call.is_read() && restype == "account" && comp == "properties") co_return account_info(call);
  if (restype != "container") co_return fail(unknown_operation(call));
  if (call.is_read()) {
    if (comp.empty()) co_return get_properties(call, false);
    if (comp == "metadata") co_return get_properties(call, true);
    if (comp == "acl") co_return get_acl(call);
    if (comp == "list") co_return list(call);
  } else if (call.request.method == "PUT" && comp.empty()) {
    co_return co_await create(call);
  } else if (call.request.method == "PUT" && comp == "metadata") {
    co_return co_await set_metadata(call);
  } else if (call.request.method == "PUT" && comp == "acl") {
    co_return co_await set_acl(call);
  } else if (call.request.method == "DELETE" && comp.empty()) {
    co_return co_await remove(call);
  }
  co_return fail(unknown_operation(call));
}

}  // namespace tidemark::blob_store
