#include "blob_store/rest/blob_routes.h"

#include <algorithm>
#include <array>

#include "blob_store/model/names.h"
#include "blob_store/rest/blob_operations.h"
#include "blob_store/storage/served_calls.h"
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
  analytics::Operation named;  // in logs and metrics; empty: by its headers (named_by_headers), or not at all
  auth::Need need;
  Answer (*run)(Call&);
  Open open = Open::kNever;
  bool of_snapshots = false;  // works with ?snapshot= as well
};

/// Only an account key or an account SAS grants these permissions.
constexpr auth::Need owner(ResourceType type, std::string_view any_of) { return {type, any_of, {}, false}; }
constexpr std::string_view kAnyLetter = "rwdlacuptf";

using namespace operations;
using enum ResourceType;
using enum analytics::Access;
using enum analytics::Effect;
// clang-format off
constexpr Route kOperations[] = {
    {On::kAccount, "GET", "", "list", {"ListContainers", kRead}, owner(kService, "l"), list_containers},
    {On::kAccount, "GET", "account", "properties", {"GetAccountInformation", kRead}, {kService, kAnyLetter}, get_account},
    {On::kAccount, "GET", "service", "stats", {"GetBlobServiceStats", kRead}, owner(kService, "r"), get_stats},
    {On::kAccount, "GET", "service", "properties", {"GetBlobServiceProperties", kRead}, owner(kService, "r"), get_service_properties},
    {On::kAccount, "PUT", "service", "properties", {"SetBlobServiceProperties", kWrite}, owner(kService, "w"), set_service_properties},
    {On::kAccount, "POST", "service", "userdelegationkey", {}, owner(kService, "k"), get_delegation_key},
    {On::kAccount, "GET", "", "blobs", {"FindBlobsByTags", kRead}, owner(kService, "f"), find_blobs},
    {On::kAccount, "POST", "", "batch", {"BlobBatch", kWrite}, owner(kObject, "dw"), batch},
    {On::kContainer, "GET", "account", "properties", {"GetAccountInformation", kRead}, {kContainer, kAnyLetter}, get_account},
    {On::kContainer, "GET", "container", "", {"GetContainerProperties", kRead}, owner(kContainer, "r"), get_container, Open::kContainer},
    {On::kContainer, "GET", "container", "metadata", {"GetContainerMetadata", kRead}, owner(kContainer, "r"), get_container_metadata, Open::kContainer},
    {On::kContainer, "GET", "container", "acl", {"GetContainerACL", kRead}, kAclNeed, get_container_acl},
    {On::kContainer, "GET", "container", "list", {"ListBlobs", kRead}, {kContainer, "l"}, list_blobs, Open::kContainer},
    {On::kContainer, "GET", "", "blobs", {"FindBlobsByTags", kRead}, {kContainer, "f"}, find_blobs},
    {On::kContainer, "POST", "", "batch", {"BlobBatch", kWrite}, {kObject, "dw"}, batch},
    {On::kContainer, "PUT", "container", "", {"CreateContainer", kWrite}, owner(kContainer, "cw"), create_container},
    {On::kContainer, "PUT", "container", "metadata", {"SetContainerMetadata", kWrite}, owner(kContainer, "w"), set_container_metadata},
    {On::kContainer, "PUT", "container", "acl", {"SetContainerACL", kWrite}, kAclNeed, set_container_acl},
    {On::kContainer, "PUT", "container", "lease", {}, owner(kContainer, "wd"), lease_container},
    {On::kContainer, "DELETE", "container", "", {"DeleteContainer", kDelete, kRemovesUnit}, owner(kContainer, "d"), delete_container},
    {On::kBlob, "GET", "account", "properties", {"GetAccountInformation", kRead}, {kObject, kAnyLetter}, get_account},
    {On::kBlob, "GET", "", "", {"GetBlob", kRead}, {kObject, "r"}, read_blob, Open::kBlob, true},
    {On::kBlob, "GET", "", "metadata", {"GetBlobMetadata", kRead}, {kObject, "r"}, read_blob_metadata, Open::kBlob, true},
    {On::kBlob, "GET", "", "blocklist", {"GetBlockList", kRead}, {kObject, "r"}, read_block_list, Open::kBlob, true},
    {On::kBlob, "GET", "", "tags", {"GetBlobTags", kRead}, {kObject, "t"}, get_tags, Open::kNever, true},
    // Operations that create a blob accept "c" as well: see write_conditions().
    {On::kBlob, "PUT", "", "", {}, {kObject, "wc"}, put_blob},
    {On::kBlob, "PUT", "", "block", {"PutBlock", kWrite, kAddsBytes}, {kObject, "wc"}, put_block},
    {On::kBlob, "PUT", "", "blocklist", {"PutBlockList", kWrite}, {kObject, "wc"}, put_block_list},
    {On::kBlob, "PUT", "", "appendblock", {"AppendBlock", kWrite, kAddsBytes}, {kObject, "aw"}, append_block},
    {On::kBlob, "PUT", "", "seal", {"AppendBlobSeal", kWrite}, {kObject, "w"}, seal_blob},
    {On::kBlob, "PUT", "", "page", {}, {kObject, "w"}, put_page},
    {On::kBlob, "GET", "", "pagelist", {"GetPageRanges", kRead}, {kObject, "r"}, read_page_ranges, Open::kBlob, true},
    {On::kBlob, "PUT", "", "properties", {"SetBlobProperties", kWrite}, {kObject, "w"}, set_blob_headers},
    {On::kBlob, "PUT", "", "metadata", {"SetBlobMetadata", kWrite}, {kObject, "w"}, set_blob_metadata},
    {On::kBlob, "PUT", "", "lease", {}, {kObject, "wd"}, lease_blob},
    {On::kBlob, "PUT", "", "snapshot", {"SnapshotBlob", kWrite}, {kObject, "wc"}, snapshot_blob},
    {On::kBlob, "PUT", "", "undelete", {"UndeleteBlob", kWrite}, {kObject, "wd"}, undelete_blob},
    {On::kBlob, "PUT", "", "copy", {"AbortCopyBlob", kWrite}, {kObject, "w"}, abort_copy},
    {On::kBlob, "PUT", "", "tags", {"SetBlobTags", kWrite}, {kObject, "t"}, set_tags, Open::kNever, true},
    {On::kBlob, "PUT", "", "tier", {"SetBlobTier", kWrite}, {kObject, "w"}, set_tier, Open::kNever, true},
    {On::kBlob, "DELETE", "", "", {"DeleteBlob", kDelete}, {kObject, "d"}, delete_blob, Open::kNever, true},
};
// clang-format on

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

/// Returns null if there is no such operation.
const Route* find_route(On level, const service::Call& call) {
  const auto method = call.reads() ? "GET" : call.http.method;
  const auto comp = call.parameter("comp").value_or("");
  const auto restype = call.parameter("restype").value_or("");
  const auto* found = std::ranges::find_if(kOperations, [&](const Route& each) {
    return each.level == level && each.method == method && each.comp == comp &&
           (each.restype.empty() || each.restype == restype);
  });
  return found == std::end(kOperations) ? nullptr : found;
}

Result<Route> find_operation(const Call& call) {
  const auto level = call.container.empty() ? On::kAccount : call.blob.empty() ? On::kContainer : On::kBlob;
  const auto* const found = find_route(level, call);
  if (found == nullptr) return fail(unknown_operation(call));
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
  if (call.container != kLogContainer || call.reads() || operation.run == delete_blob) return {};
  return fail(ErrorCode::kInsufficientAccountPermissions, "Logs of storage analytics can be read and deleted only.");
}

/// Returns the operation for the action that a header names.
analytics::Operation lease_operation(std::string_view action, bool of_blob) {
  struct Lease {
    std::string_view action, of_blob, of_container;
  };
  constexpr std::array<Lease, 5> kLeases{{{"acquire", "AcquireBlobLease", "AcquireContainerLease"},
                                          {"renew", "RenewBlobLease", "RenewContainerLease"},
                                          {"change", "ChangeBlobLease", "ChangeContainerLease"},
                                          {"release", "ReleaseBlobLease", "ReleaseContainerLease"},
                                          {"break", "BreakBlobLease", "BreakContainerLease"}}};
  for (const auto& lease : kLeases) {
    if (iequals_ascii(action, lease.action)) return {of_blob ? lease.of_blob : lease.of_container, kWrite};
  }
  return {};
}

/// Returns the operation of a PUT of a blob or of pages.
analytics::Operation put_operation(const http::Request& request, bool of_pages) {
  if (of_pages) {
    const auto write = request.header("x-ms-page-write").value_or("");
    return iequals_ascii(write, "clear") ? analytics::Operation{"ClearPage", kWrite}
                                         : analytics::Operation{"PutPage", kWrite, kAddsBytes};
  }
  const bool whole = request.header("x-ms-blob-type").has_value();
  if (!request.header("x-ms-copy-source")) return {"PutBlob", kWrite, kAddsBytes};
  return {whole ? "PutBlobFromURL" : "CopyBlob", kWrite, kAddsBytes};
}

/// Names an operation that its URL alone does not name.
analytics::Operation named_by_headers(const Route& route, const http::Request& request) {
  const bool of_blob = route.level == On::kBlob;
  if (route.comp == "lease") return lease_operation(request.header("x-ms-lease-action").value_or(""), of_blob);
  if (of_blob && route.method == "PUT") return put_operation(request, route.comp == "page");
  return {};
}

/// Reads the body as a structured one if the request says so. Only content is sent and asked for in this form.
Result<void> read_structured(Call& call, const Route& operation) {
  const auto form = call.header(kStructuredBody);
  if (form.empty()) return {};
  const bool sends = operation.named.effect == kAddsBytes || operation.run == put_blob || operation.run == put_page;
  if ((!sends && operation.run != read_blob) || (sends && names_source(call))) {
    return fail(ErrorCode::kNotImplemented, "This operation has no structured body.");
  }
  if (!iequals_ascii(form, kStructuredForm)) return fail(protocol::invalid_header(kStructuredBody, form));
  if (!sends) return {};
  const auto text = call.header(kStructuredLength);
  if (text.empty()) return fail(protocol::missing_header(kStructuredLength));
  const auto length = parse_number<std::uint64_t>(text);
  if (!length) return fail(protocol::invalid_header(kStructuredLength, text));
  call.structured = std::make_unique<StructuredContent>(call.http, *length);
  return {};
}

/// Tells the client that its structured body was understood.
Answer acknowledged(Answer answer, std::string form) {
  auto response = CO_TRY(co_await std::move(answer));
  response.set(std::string(kStructuredBody), std::move(form));
  co_return response;
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

/// The container of the logs is there as soon as the blob service logs: hosts of Azure Functions look into it at once.
Task<Result<void>> BlobRoutes::merge_properties(const std::string& account, std::string document) {
  CO_TRY(co_await service_.call(calls::SetServiceProperties{account, std::move(document)}));
  const auto stored = CO_TRY(service_.get_service_properties(account));
  if (!analytics::wanted_by(protocol::StoreKind::kBlob, stored).logs()) co_return Result<void>{};
  co_return co_await service_.call(calls::EnsureContainer{account, std::string(kLogContainer)});
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
  CO_TRY(read_structured(call, operation));
  auto answer = operation.run(call);
  co_return co_await (call.structured ? acknowledged(std::move(answer), call.header(kStructuredBody))
                                      : std::move(answer));
}

/// The request alone decides, so a refused one has a name as well.
analytics::Operation BlobRoutes::operation_of(const service::Call& call) const {
  if (call.http.method == "OPTIONS") return {"BlobPreflightRequest", kRead};
  const auto rest = call.resource.rest;
  const auto slash = rest.find('/');
  const bool of_container = slash == std::string_view::npos || slash + 1 == rest.size();
  const auto* const route = find_route(rest.empty() ? On::kAccount : of_container ? On::kContainer : On::kBlob, call);
  if (route == nullptr) return {};
  if (route->run == read_blob && call.http.method == "HEAD") return {"GetBlobProperties", kRead};
  return route->named.name.empty() ? named_by_headers(*route, call.http) : route->named;
}

/// A batch succeeds regardless of its parts, so the container that it names may not exist.
std::string_view BlobRoutes::name_of(const service::Call& call) const {
  const bool batch = call.parameter_is("comp", "batch");
  return batch ? std::string_view() : std::string_view(static_cast<const Call&>(call).container);
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
