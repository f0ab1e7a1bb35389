// One request of the blob protocol: the resource that its URL names, its headers and its parameters. Used by the
// coroutine of the request. Errors are the protocol's.
#pragma once
#include <string>
#include <string_view>

#include "blob_store/model/conditions.h"
#include "blob_store/rest/structured_body.h"
#include "blob_store/storage/blob_service.h"
#include "common/protocol/responses.h"
#include "common/protocol/xml.h"
#include "common/service/front.h"

namespace tidemark::blob_store {

using protocol::add_metadata;
using protocol::empty_response;
using protocol::read_metadata;
using protocol::xml_response;
using service::Answer;

struct Call : service::Call {
  Call(service::Front& face, http::Request& request, BlobService& blobs)
      : service::Call(face, request), service(blobs) {}

  BlobService& service;
  std::string container, blob;  // decoded; empty if the URL has none
  std::optional<Stamp> snapshot;
  TagCondition if_tags;                           // one of the conditions of read_conditions()
  std::unique_ptr<StructuredContent> structured;  // the body, if it is a structured one

  /// Returns an empty text if the parameter is absent.
  [[nodiscard]] std::string_view parameter(std::string_view name) const {
    return service::Call::parameter(name).value_or("");
  }
  [[nodiscard]] std::string header(std::string_view name) const { return std::string(http.header(name).value_or("")); }
  [[nodiscard]] ContainerRef container_ref() const { return {account(), container}; }
  [[nodiscard]] BlobRef blob_ref() const { return {account(), container, blob, snapshot}; }
  [[nodiscard]] Result<void> authorize(const auth::Need& need) const;
};

/// Only an account key may decide who else may enter a container.
inline constexpr auth::Need kAclNeed{auth::ResourceType::kContainer, {}, {}, false, false};

/// Sets the container and the blob from the URL.
Result<void> split_resource(Call& call);
Conditions read_conditions(const Call& call);
/// Reads the conditions of operations that know no others.
Conditions lease_and_tags(const Call& call);
/// Reads the conditions of a write that "c" allows as well as "w": a caller with "c" alone may only create.
Conditions write_conditions(const Call& call);
/// Sets the call's snapshot.
Result<void> read_snapshot(Call& call);
/// Reads the condition on tags from this header; it is empty if the header is absent. kInvalidHeaderValue.
Result<TagCondition> read_tag_condition(const Call& call, std::string_view header);
/// Reads x-ms-access-tier, and spells it as the service does; empty if it is absent. kInvalidHeaderValue.
Result<std::string> read_tier(const Call& call);
/// Returns kNotImplemented if the request asks for a property that is not kept, such as encryption with its own key.
Result<void> check_offered(const Call& call);
/// Returns the answer to an anonymous caller who may not do this.
Error refusal_of_anybody(const Call& call);
/// Tells whether the caller uses a version before this one. A caller that gives no version uses the newest.
bool speaks_before(const Call& call, std::string_view version);
/// Reads x-ms-blob-content-*; with `plain` also the standard headers where the x-ms ones are absent. As in the service,
/// an MD5 that is compared with nothing may have any length. kInvalidMd5: it is not base64.
Result<ContentHeaders> read_content_headers(const Call& call, bool plain);
/// Reads prefix, marker and maxresults.
Result<ListRequest> read_list_request(const Call& call, std::size_t most = 5000);
std::string write_marker(const ListPlace& next);
bool includes(const Call& call, std::string_view what);
/// Checks that the parameter `include` names nothing else. kInvalidQueryParameterValue.
Result<void> check_included(const Call& call, std::initializer_list<std::string_view> known);
/// Begins <EnumerationResults> and repeats the parameters of the request.
void begin_list(protocol::XmlWriter& out, const Call& call);

void add_lease(http::Response& response, const Lease& lease, Time now);
void add_version(http::Response& response, const Stamp& version);

}  // namespace tidemark::blob_store
