#include "blob_store/rest/blob_routes.h"

#include <algorithm>

#include "blob_store/rest/blob_operations.h"
#include "common/auth/signature.h"
#include "common/base/encoding.h"
#include "common/protocol/protocol_errors.h"

namespace tidemark::blob_store {
namespace {

using auth::ResourceType;

constexpr std::string_view kNewestVersion = "2026-04-06";

struct Operation {
  auth::Need need;
  Answer (*run)(Call&);
};

// Operations of the protocol that are not offered, or not with this verb.
constexpr std::string_view kKnownOperations[] = {"userdelegationkey", "batch",    "blobs", "lease",
                                                 "undelete",          "rename",   "page",  "pagelist",
                                                 "appendblock",       "seal",     "tags",  "tier",
                                                 "snapshot",          "expiry",   "list",  "immutabilityPolicies",
                                                 "legalhold",         "copy",     "query", "incrementalcopy",
                                                 "properties",        "metadata", "acl",   "block",
                                                 "blocklist"};

/// kNotImplemented for an operation of the protocol that is not offered, kInvalidQueryParameterValue for no operation.
Error unknown_operation(const Call& call) {
  const auto comp = call.parameter("comp");
  if (comp.empty()) return make_error(ErrorCode::kUnsupportedHttpVerb);
  if (std::ranges::find(kKnownOperations, comp) != std::end(kKnownOperations)) {
    return make_error(ErrorCode::kNotImplemented);
  }
  return protocol::invalid_parameter("comp", comp);
}

auth::Need account_need(ResourceType type, std::string_view any_of) { return {type, any_of, {}, false}; }
constexpr auth::Need kAclNeed{ResourceType::kContainer, {}, {}, false, false};
constexpr std::string_view kAnyLetter = "rwdlacup";

Result<Operation> find_account_operation(const Call& call) {
  using namespace operations;
  const auto comp = call.parameter("comp");
  const auto restype = call.parameter("restype");
  if (call.reads() && comp == "list") return Operation{account_need(ResourceType::kService, "l"), list_containers};
  if (call.reads() && comp == "properties" && restype == "account") {
    return Operation{{ResourceType::kService, kAnyLetter}, get_account};
  }
  if (restype != "service") return fail(unknown_operation(call));
  if (call.reads() && comp == "stats") return Operation{account_need(ResourceType::kService, "r"), get_stats};
  if (call.reads() && comp == "properties") {
    return Operation{account_need(ResourceType::kService, "r"), get_service_properties};
  }
  if (call.http.method == "PUT" && comp == "properties") {
    return Operation{account_need(ResourceType::kService, "w"), set_service_properties};
  }
  return fail(unknown_operation(call));
}

Result<Operation> find_container_operation(const Call& call) {
  using namespace operations;
  constexpr auto kType = ResourceType::kContainer;
  const auto comp = call.parameter("comp");
  const auto restype = call.parameter("restype");
  if (call.reads() && comp == "properties" && restype == "account") return Operation{{kType, kAnyLetter}, get_account};
  if (restype != "container") return fail(unknown_operation(call));
  if (call.reads()) {
    if (comp.empty()) return Operation{account_need(kType, "r"), get_container};
    if (comp == "metadata") return Operation{account_need(kType, "r"), get_container_metadata};
    if (comp == "acl") return Operation{kAclNeed, get_container_acl};
    if (comp == "list") return Operation{{kType, "l"}, list_blobs};
  } else if (call.http.method == "PUT") {
    if (comp.empty()) return Operation{account_need(kType, "cw"), create_container};
    if (comp == "metadata") return Operation{account_need(kType, "w"), set_container_metadata};
    if (comp == "acl") return Operation{kAclNeed, set_container_acl};
  } else if (call.http.method == "DELETE" && comp.empty()) {
    return Operation{account_need(kType, "d"), delete_container};
  }
  return fail(unknown_operation(call));
}

Result<Operation> find_blob_operation(const Call& call) {
  using namespace operations;
  constexpr auto kType = ResourceType::kObject;
  const auto comp = call.parameter("comp");
  if (call.reads() && comp == "properties" && call.parameter("restype") == "account") {
    return Operation{{kType, kAnyLetter}, get_account};
  }
  if (!call.parameter("snapshot").empty() || !call.parameter("versionid").empty() ||
      !call.header("x-ms-lease-id").empty() || !call.header("x-ms-if-tags").empty()) {
    return fail(ErrorCode::kNotImplemented);
  }
  if (call.reads()) {
    if (comp.empty()) return Operation{{kType, "r"}, read_blob};
    if (comp == "metadata") return Operation{{kType, "r"}, read_blob_metadata};
    if (comp == "blocklist") return Operation{{kType, "r"}, read_block_list};
  } else if (call.http.method == "PUT") {
    // What creates a blob takes "c" as well: see write_conditions().
    if (comp.empty()) return Operation{{kType, "wc"}, put_blob};
    if (comp == "block") return Operation{{kType, "wc"}, put_block};
    if (comp == "blocklist") return Operation{{kType, "wc"}, put_block_list};
    if (comp == "properties") return Operation{{kType, "w"}, set_blob_headers};
    if (comp == "metadata") return Operation{{kType, "w"}, set_blob_metadata};
  } else if (call.http.method == "DELETE" && comp.empty()) {
    return Operation{{kType, "d"}, delete_blob};
  }
  return fail(unknown_operation(call));
}

Result<void> split_resource(Call& call) {
  const auto rest = call.resource.rest;
  const auto slash = std::min(rest.find('/'), rest.size());
  auto container = percent_decode(rest.substr(0, slash), false);
  auto blob = percent_decode(rest.substr(std::min(slash + 1, rest.size())), false);
  if (!container || !blob) return fail(ErrorCode::kRequestUrlFailedToParse);
  call.container = std::move(*container);
  call.blob = std::move(*blob);
  return {};
}

Answer answer(Call& call) {
  if (call.resource.secondary && !call.reads()) co_return fail(ErrorCode::kInsufficientAccountPermissions);
  CO_TRY(split_resource(call));
  const auto operation = CO_TRY(call.container.empty() ? find_account_operation(call)
                                : call.blob.empty()    ? find_container_operation(call)
                                                       : find_blob_operation(call));
  CO_TRY(call.authorize(operation.need));
  co_return co_await operation.run(call);
}

}  // namespace

BlobRoutes::BlobRoutes(BlobService& service, Clock& clock, std::vector<auth::Account> accounts, auth::Policy policy)
    : Front({auth::Service::kBlob, protocol::StoreKind::kBlob,
             auth::authentication_failed("The query of the URL has a broken percent escape."), kNewestVersion},
            clock, std::move(accounts), policy, service::properties_of(service)),
      service_(service) {}

Task<http::Response> BlobRoutes::serve(http::Request& request) {
  Call call(*this, request, service_);
  auto answered = admit(call);
  if (!answered) answered = co_await answer(call);
  co_return finish(call, std::move(*answered));
}

Result<StoredPolicies> BlobRoutes::policies_of(const service::Call& call, std::string_view resource) const {
  const auto container = resource.substr(0, resource.find('/'));
  return TRY(service_.get_container({call.account(), std::string(container)})).policies;
}

http::Response BlobRoutes::render(const Error& error, const std::string& request_id, const service::Call* call) const {
  auto response = Front::render(error, request_id, call);
  if (error.code == ErrorCode::kInvalidRange && !error.fields.empty()) {
    response.set("Content-Range", "bytes */" + error.fields.front().second);
  }
  return response;
}

}  // namespace tidemark::blob_store
