// One request as the routes see it: who asks, for which resource, with which parameters. Lives for the request; one
// coroutine. Helpers return the protocol's errors.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blob_store/model/conditions.h"
#include "blob_store/storage/blob_service.h"
#include "common/auth/authenticator.h"
#include "common/http/http.h"
#include "common/protocol/cors.h"

namespace tidemark::blob_store {

struct Call {
  http::Request& request;
  BlobService& service;
  protocol::CorsPolicies& cors;
  std::string account, container, blob;  // decoded; empty: not in the URL
  std::string endpoint;                  // "http://host/account/" as the client wrote it, for lists
  std::vector<std::pair<std::string, std::string>> query;
  auth::Identity identity;
  bool secondary = false;  // the read-only endpoint
  Time now;                // when the request came

  /// A parameter that is present and not empty.
  [[nodiscard]] std::string parameter(std::string_view name) const;
  /// A header that is present; empty counts as absent.
  [[nodiscard]] std::string header(std::string_view name) const;
  [[nodiscard]] bool is_read() const { return request.method == "GET" || request.method == "HEAD"; }
  [[nodiscard]] ContainerRef container_ref() const { return {account, container}; }
  [[nodiscard]] BlobRef blob_ref() const { return {account, container, blob}; }
  [[nodiscard]] Result<void> authorize(const auth::Need& need) const;
};

Result<Metadata> read_metadata(const Call& call);
Conditions read_conditions(const Call& call);
/// x-ms-blob-content-*; with `plain` also the standard headers where the x-ms ones are absent.
ContentHeaders read_content_headers(const Call& call, bool plain);
/// prefix, marker, maxresults.
Result<ListRequest> read_list_request(const Call& call);
std::string write_marker(const std::string& next);
bool includes(const Call& call, std::string_view what);

void add_version(http::Response& response, const Version& version);
void add_metadata(http::Response& response, const Metadata& metadata);
http::Response empty_response(unsigned status);
http::Response xml_response(std::string body);

}  // namespace tidemark::blob_store
