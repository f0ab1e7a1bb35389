// The operations on containers, and the list of their blobs.
#include "blob_store/rest/blob_operations.h"
#include "blob_store/rest/blob_xml.h"
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

void write_tier(protocol::XmlWriter& out, const Blob& blob) {
  out.element("AccessTier", blob.tier.empty() ? "Hot" : blob.tier);
  if (blob.tier.empty()) {
    out.element("AccessTierInferred", true);
  } else {
    out.element("AccessTierChangeTime", to_rfc1123(blob.tier_changed));
  }
}

/// What a list has beside the properties.
struct With {
  bool metadata = false, tags = false;
};

void write_blob(protocol::XmlWriter& out, const ListedBlob& item, With with) {
  if (!item.blob) {
    write_name(out.begin("BlobPrefix"), item.name);
    out.end();
    return;
  }
  const auto& blob = *item.blob;
  const auto& h = blob.headers;
  write_name(out.begin("Blob"), item.name);
  out.begin("Properties")
      .element("Creation-Time", to_rfc1123(blob.created.time()))
      .element("Last-Modified", to_rfc1123(blob.version.time()))
      .element("Etag", blob.version.etag())
      .element("Content-Length", blob.size)
      .element("Content-Type", protocol::as_xml_text(h.type))
      .element("Content-Encoding", protocol::as_xml_text(h.encoding))
      .element("Content-Language", protocol::as_xml_text(h.language))
      .element("Content-MD5", protocol::as_xml_text(h.md5))
      .element("Cache-Control", protocol::as_xml_text(h.cache_control))
      .element("Content-Disposition", protocol::as_xml_text(h.disposition))
      .raw(
          "<BlobType>BlockBlob</BlobType><LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState>"
          "<ServerEncrypted>true</ServerEncrypted>");
  write_tier(out, blob);
  if (!blob.tags.empty()) out.element("TagCount", blob.tags.size());
  out.end();
  if (with.metadata) write_metadata(out, blob.metadata);
  if (with.tags && !blob.tags.empty()) write_tags(out, blob.tags);
  out.end();
}

}  // namespace

Answer create_container(Call& call) {
  auto access = CO_TRY(read_public_access(call));
  co_return version_response(
      201, CO_TRY(co_await call.service.create_container(call.container_ref(), read_metadata(call.http), access)));
}

Answer delete_container(Call& call) {
  CO_TRY(co_await call.service.delete_container(call.container_ref(), read_conditions(call)));
  co_return empty_response(202);
}

Answer get_container(Call& call) {
  const auto container = CO_TRY(call.service.get_container(call.container_ref()));
  auto response = access_response(container);
  add_metadata(response, container.metadata);
  response.set("x-ms-lease-status", "unlocked");
  response.set("x-ms-lease-state", "available");
  response.set("x-ms-has-immutability-policy", "false");
  response.set("x-ms-has-legal-hold", "false");
  co_return response;
}

Answer get_container_metadata(Call& call) {
  const auto container = CO_TRY(call.service.get_container(call.container_ref()));
  auto response = version_response(200, container.version);
  add_metadata(response, container.metadata);
  co_return response;
}

Answer set_container_metadata(Call& call) {
  co_return version_response(200, CO_TRY(co_await call.service.set_container_metadata(
                                      call.container_ref(), read_metadata(call.http), read_conditions(call))));
}

Answer get_container_acl(Call& call) {
  const auto container = CO_TRY(call.service.get_container(call.container_ref()));
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
      200, CO_TRY(co_await call.service.set_container_access(call.container_ref(), std::move(access),
                                                             std::move(policies), read_conditions(call))));
}

Answer list_blobs(Call& call) {
  auto request = CO_TRY(read_list_request(call));
  request.delimiter = call.parameter("delimiter");
  auto page = CO_TRY(call.service.list_blobs(call.container_ref(), request));
  protocol::XmlWriter out;
  begin_list(out, call);
  out.begin("Blobs");
  const With with{includes(call, "metadata"), includes(call, "tags")};
  for (const auto& item : page.items) write_blob(out, item, with);
  out.end().element("NextMarker", write_marker(page.next));
  co_return xml_response(200, out.take());
}

}  // namespace tidemark::blob_store::operations
