#include "blob_store/rest/blob_routes.h"

#include <algorithm>

#include "blob_store/model/names.h"
#include "blob_store/rest/blob_operations.h"
#include "common/auth/signature.h"
#include "common/base/encoding.h"
#include "common/base/numbers.h"
#include "common/protocol/protocol_errors.h"

namespace tidemark::blob_store {
namespace {

using auth::ResourceType;

constexpr std::string_view kNewestVersion = "2026-04-06";

enum class On { kAccount, kContainer, kBlob };

/// The lowest level of public access at which anonymous callers may do it.
enum class Open { kNever, kBlob, kContainer };

struct Route {
  On level;
  std::string_view method;   // GET includes HEAD
  std::string_view restype;  // empty: any
  std::string_view comp;
  auth::Need need;
  Answer (*run)(Call&);
  bool of_snapshots = false;  // works with ?snapshot= as well
  Open open = Open::kNever;
};

/// Only an account key or an account SAS grants these permissions.
constexpr auth::Need owner_need(ResourceType type, std::string_view any_of) { return {type, any_of, {}, false}; }
constexpr std::string_view kAnyLetter = "rwdlacuptf";

using enum ResourceType;
constexpr Route kOperations[] = {
    {On::kAccount, "GET", "", "list", owner_need(kService, "l"), operations::list_containers},
    {On::kAccount, "GET", "account", "properties", {kService, kAnyLetter}, operations::get_account},
    {On::kAccount, "GET", "service", "stats", owner_need(kService, "r"), operations::get_stats},
    {On::kAccount, "GET", "service", "properties", owner_need(kService, "r"), operations::get_service_properties},
    {On::kAccount, "PUT", "service", "properties", owner_need(kService, "w"), operations::set_service_properties},
    {On::kAccount, "POST", "service", "userdelegationkey", owner_need(kService, "k"), operations::get_delegation_key},
    {On::kAccount, "GET", "", "blobs", owner_need(kService, "f"), operations::find_blobs},
    {On::kAccount, "POST", "", "batch", owner_need(kObject, "dw"), operations::batch},
    {On::kContainer, "GET", "account", "properties", {kContainer, kAnyLetter}, operations::get_account},
    {On::kContainer, "GET", "container", "", owner_need(kContainer, "r"), operations::get_container, false,
     Open::kContainer},
    {On::kContainer, "GET", "container", "metadata", owner_need(kContainer, "r"), operations::get_container_metadata,
     false, Open::kContainer},
    {On::kContainer, "GET", "container", "acl", kAclNeed, operations::get_container_acl},
    {On::kContainer, "GET", "container", "list", {kContainer, "l"}, operations::list_blobs, false, Open::kContainer},
    {On::kContainer, "GET", "", "blobs", {kContainer, "f"}, operations::find_blobs},
    {On::kContainer, "POST", "", "batch", {kObject, "dw"}, operations::batch},
    {On::kContainer, "PUT", "container", "", owner_need(kContainer, "cw"), operations::create_container},
    {On::kContainer, "PUT", "container", "metadata", owner_need(kContainer, "w"), operations::set_container_metadata},
    {On::kContainer, "PUT", "container", "acl", kAclNeed, operations::set_container_acl},
    {On::kContainer, "PUT", "container", "lease", owner_need(kContainer, "wd"), operations::lease_container},
    {On::kContainer, "DELETE", "container", "", owner_need(kContainer, "d"), operations::delete_container},
    {On::kBlob, "GET", "account", "properties", {kObject, kAnyLetter}, operations::get_account},
    {On::kBlob, "GET", "", "", {kObject, "r"}, operations::read_blob, true, Open::kBlob},
    {On::kBlob, "GET", "", "metadata", {kObject, "r"}, operations::read_blob_metadata, true, Open::kBlob},
    {On::kBlob, "GET", "", "blocklist", {kObject, "r"}, operations::read_block_list, true, Open::kBlob},
    {On::kBlob, "GET", "", "tags", {kObject, "t"}, operations::get_tags, true},
    // Operations that create a blob accept "c" as well: see write_conditions().
    {On::kBlob, "PUT", "", "", {kObject, "wc"}, operations::put_blob},
    {On::kBlob, "PUT", "", "block", {kObject, "wc"}, operations::put_block},
    {On::kBlob, "PUT", "", "blocklist", {kObject, "wc"}, operations::put_block_list},
    {On::kBlob, "PUT", "", "appendblock", {kObject, "aw"}, operations::append_block},
    {On::kBlob, "PUT", "", "seal", {kObject, "w"}, operations::seal_blob},
    {On::kBlob, "PUT", "", "page", {kObject, "w"}, operations::put_page},
    {On::kBlob, "GET", "", "pagelist", {kObject, "r"}, operations::read_page_ranges, true, Open::kBlob},
    {On::kBlob, "PUT", "", "properties", {kObject, "w"}, operations::set_blob_headers},
    {On::kBlob, "PUT", "", "metadata", {kObject, "w"}, operations::set_blob_metadata},
    {On::kBlob, "PUT", "", "lease", {kObject, "wd"}, operations::lease_blob},
    {On::kBlob, "PUT", "", "snapshot", {kObject, "wc"}, operations::snapshot_blob},
    {On::kBlob, "PUT", "", "undelete", {kObject, "wd"}, operations::undelete_blob},
    {On::kBlob, "PUT", "", "copy", {kObject, "w"}, operations::abort_copy},
    {On::kBlob, "PUT", "", "tags", {kObject, "t"}, operations::set_tags, true},
    {On::kBlob, "PUT", "", "tier", {kObject, "w"}, operations::set_tier, true},
    {On::kBlob, "DELETE", "", "", {kObject, "d"}, operations::delete_blob, true},
};

// Operations of the protocol that are not offered, or not with this method.
constexpr std::string_view kKnownOperations[] = {"userdelegationkey", "batch",    "blobs", "lease",
                                                 "undelete",          "rename",   "page",  "pagelist",
                                                 "appendblock",       "seal",     "tags",  "tier",
                                                 "snapshot",          "expiry",   "list",  "immutabilityPolicies",
                                                 "legalhold",         "copy",     "query", "incrementalcopy",
                                                 "properties",        "metadata", "acl",   "block",
                                                 "blocklist"};

/// Returns kNotImplemented for an operation that is not offered, kInvalidQueryParameterValue for an unknown one.
Error unknown_operation(const Call& call) {
  const auto comp = call.parameter("comp");
  if (comp.empty()) return make_error(ErrorCode::kUnsupportedHttpVerb);
  if (std::ranges::find(kKnownOperations, comp) != std::end(kKnownOperations)) {
    return make_error(ErrorCode::kNotImplemented);
  }
  return protocol::invalid_parameter("comp", comp);
}

Result<Route> find_operation(const Call& call) {
  const auto level = call.container.empty() ? On::kAccount : call.blob.empty() ? On::kContainer : On::kBlob;
  const auto method = call.reads() ? "GET" : call.http.method;
  const auto comp = call.parameter("comp");
  const auto restype = call.parameter("restype");
  const auto* found = std::ranges::find_if(kOperations, [&](const Route& each) {
    return each.level == level && each.method == method && each.comp == comp &&
           (each.restype.empty() || each.restype == restype);
  });
  const bool known = found != std::end(kOperations);
  if (!known) return fail(unknown_operation(call));
  return *found;
}

/// Checks whether the container lets an anonymous caller do this.
Result<void> admit_anybody(const Call& call, const Route& operation) {
  if (operation.open != Open::kNever) {
    const auto container = call.service.get_container(call.container_ref());
    if (!container && http_status_of(container.error().code) >= 500) return fail(container.error());
    const auto access = container ? std::string_view(container->public_access) : std::string_view();
    if (access == "container" || (access == "blob" && operation.open == Open::kBlob)) return {};
  }
  return fail(refusal_of_anybody(call));
}

auth::Policy with_anybody(auth::Policy policy) {
  policy.allow_anonymous = true;
  return policy;
}

/// Checks that the call is allowed to users if it concerns the logs of storage analytics.
Result<void> check_log_access(const Call& call, const Route& operation) {
  if (call.container != kLogContainer || call.reads() || operation.run == operations::delete_blob) return {};
  return fail(ErrorCode::kInsufficientAccountPermissions, "Logs of storage analytics can be read and deleted only.");
}

/// Sets the status, and the headers for clients that read no body.
void answer_as_source(const Error& refusal, http::Response& response) {
  const auto& status = refusal.fields[0].second;
  response.status = parse_number<unsigned>(status).value_or(response.status);
  response.set("x-ms-copy-source-status-code", status);
  response.set("x-ms-copy-source-error-code", refusal.fields[1].second);
}

}  // namespace

BlobRoutes::BlobRoutes(BlobService& service, Clock& clock, std::vector<auth::Account> accounts, auth::Policy policy)
    : StoreFront({auth::Service::kBlob, protocol::StoreKind::kBlob,
                  auth::authentication_failed("The query of the URL has a broken percent escape."), kNewestVersion},
                 clock, std::move(accounts), with_anybody(policy), service),
      service_(service) {}

Result<service::Place> BlobRoutes::place_of(Call& call) {
  TRY(split_resource(call));
  if (!call.blob.empty()) return service_.shard_of(call.blob_ref());
  // Every process answers reads of containers and batches, whose parts are routed separately.
  if (call.reads() || call.http.method == "POST") return std::nullopt;
  return service::kCatalogue;
}

Answer BlobRoutes::answer(Call& call) {
  if (call.resource.secondary && !call.reads()) co_return fail(ErrorCode::kInsufficientAccountPermissions);
  CO_TRY(split_resource(call));
  CO_TRY(read_snapshot(call));
  call.if_tags = CO_TRY(read_tag_condition(call, "x-ms-if-tags"));
  // Versions are not kept, so no blob has the requested one.
  if (!call.parameter("versionid").empty())
    co_return fail(protocol::invalid_parameter("versionid", call.parameter("versionid")));
  const auto operation = CO_TRY(find_operation(call));
  const bool anybody = call.identity.scheme == auth::Scheme::kAnonymous;
  CO_TRY(anybody ? admit_anybody(call, operation) : call.authorize(operation.need));
  CO_TRY(check_log_access(call, operation));
  CO_TRY(check_offered(call));
  if (call.snapshot && !operation.of_snapshots)
    co_return fail(protocol::invalid_parameter("snapshot", call.parameter("snapshot")));
  if (operation.level == On::kBlob) call.note_part(call.container, call.blob);
  co_return co_await operation.run(call);
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
  if (error.code == ErrorCode::kCannotVerifyCopySource && !error.fields.empty()) answer_as_source(error, response);
  return response;
}

}  // namespace tidemark::blob_store
