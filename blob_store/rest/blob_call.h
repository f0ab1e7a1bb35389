// One request of the blob protocol: what its URL names, and what its headers and parameters say. For the coroutine of
// the request. Errors are the protocol's.
#pragma once
#include <string>
#include <string_view>

#include "blob_store/model/conditions.h"
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
  std::string container, blob;  // decoded; empty if not in the URL
  std::optional<Stamp> snapshot;
  TagCondition if_tags;  // one of read_conditions()

  /// Empty if it is absent.
  [[nodiscard]] std::string_view parameter(std::string_view name) const {
    return service::Call::parameter(name).value_or("");
  }
  [[nodiscard]] std::string header(std::string_view name) const { return std::string(http.header(name).value_or("")); }
  [[nodiscard]] ContainerRef container_ref() const { return {account(), container}; }
  [[nodiscard]] BlobRef blob_ref() const { return {account(), container, blob, snapshot}; }
  [[nodiscard]] Result<void> authorize(const auth::Need& need) const;
};

/// What only an account key grants: who else may enter a container.
inline constexpr auth::Need kAclNeed{auth::ResourceType::kContainer, {}, {}, false, false};

/// Sets container and blob from the URL.
Result<void> split_resource(Call& call);
Conditions read_conditions(const Call& call);
/// Of operations that know no other conditions.
Conditions lease_and_tags(const Call& call);
/// Of a write that "c" allows as well as "w": whoever has "c" alone may only create.
Conditions write_conditions(const Call& call);
/// Sets the call's snapshot.
Result<void> read_snapshot(Call& call);
/// The condition on tags in this header; none if it is absent. kInvalidHeaderValue.
Result<TagCondition> read_tag_condition(const Call& call, std::string_view header);
/// x-ms-access-tier, as the service spells it; empty if there is none. kInvalidHeaderValue.
Result<std::string> read_tier(const Call& call);
/// kNotImplemented if the request wants what would have to be kept for it and is not, such as encryption by its own
/// key.
Result<void> check_offered(const Call& call);
/// The answer to a stranger who may not do this.
Error refusal_of_anybody(const Call& call);
/// Whether the caller speaks a version before this one. Without a version, he speaks the newest.
bool speaks_before(const Call& call, std::string_view version);
/// x-ms-blob-content-*; with `plain` also the standard headers where the x-ms ones are absent. As in the service, an
/// MD5 that nobody compares may have any length. kInvalidMd5: it is not base64.
Result<ContentHeaders> read_content_headers(const Call& call, bool plain);
/// prefix, marker, maxresults.
Result<ListRequest> read_list_request(const Call& call, std::size_t most = 5000);
std::string write_marker(const ListPlace& next);
bool includes(const Call& call, std::string_view what);
/// <EnumerationResults> with what was asked for.
void begin_list(protocol::XmlWriter& out, const Call& call);

void add_lease(http::Response& response, const Lease& lease, Time now);
void add_version(http::Response& response, const Stamp& version);

}  // namespace tidemark::blob_store
