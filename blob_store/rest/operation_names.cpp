// The names that storage analytics has for the operations of the blob protocol. The request alone decides, so a refused
// request has a name as well.
#include <array>

#include "blob_store/rest/blob_routes.h"
#include "common/base/encoding.h"

namespace tidemark::blob_store {
namespace {

using analytics::Access;
using analytics::Operation;

struct Named {
  char level;  // account, container or blob
  std::string_view method, restype, comp;
  Operation operation;
};

using enum Access;
using enum analytics::Effect;
constexpr Named kNames[] = {
    {'a', "GET", "", "list", {"ListContainers", kRead}},
    {'a', "GET", "service", "properties", {"GetBlobServiceProperties", kRead}},
    {'a', "PUT", "service", "properties", {"SetBlobServiceProperties", kWrite}},
    {'a', "GET", "service", "stats", {"GetBlobServiceStats", kRead}},
    {'a', "GET", "account", "properties", {"GetAccountInformation", kRead}},
    {'a', "GET", "", "blobs", {"FindBlobsByTags", kRead}},
    {'a', "POST", "", "batch", {"BlobBatch", kWrite}},
    {'c', "GET", "container", "", {"GetContainerProperties", kRead}},
    {'c', "GET", "container", "metadata", {"GetContainerMetadata", kRead}},
    {'c', "GET", "container", "acl", {"GetContainerACL", kRead}},
    {'c', "GET", "container", "list", {"ListBlobs", kRead}},
    {'c', "GET", "account", "properties", {"GetAccountInformation", kRead}},
    {'c', "GET", "", "blobs", {"FindBlobsByTags", kRead}},
    {'c', "POST", "", "batch", {"BlobBatch", kWrite}},
    {'c', "PUT", "container", "", {"CreateContainer", kWrite}},
    {'c', "PUT", "container", "metadata", {"SetContainerMetadata", kWrite}},
    {'c', "PUT", "container", "acl", {"SetContainerACL", kWrite}},
    {'c', "DELETE", "container", "", {"DeleteContainer", kDelete, kRemovesUnit}},
    {'b', "HEAD", "", "", {"GetBlobProperties", kRead}},
    {'b', "GET", "", "", {"GetBlob", kRead}},
    {'b', "GET", "", "metadata", {"GetBlobMetadata", kRead}},
    {'b', "GET", "", "blocklist", {"GetBlockList", kRead}},
    {'b', "GET", "", "tags", {"GetBlobTags", kRead}},
    {'b', "GET", "", "pagelist", {"GetPageRanges", kRead}},
    {'b', "GET", "account", "properties", {"GetAccountInformation", kRead}},
    {'b', "PUT", "", "block", {"PutBlock", kWrite, kAddsBytes}},
    {'b', "PUT", "", "blocklist", {"PutBlockList", kWrite}},
    {'b', "PUT", "", "appendblock", {"AppendBlock", kWrite, kAddsBytes}},
    {'b', "PUT", "", "seal", {"AppendBlobSeal", kWrite}},
    {'b', "PUT", "", "properties", {"SetBlobProperties", kWrite}},
    {'b', "PUT", "", "metadata", {"SetBlobMetadata", kWrite}},
    {'b', "PUT", "", "snapshot", {"SnapshotBlob", kWrite}},
    {'b', "PUT", "", "undelete", {"UndeleteBlob", kWrite}},
    {'b', "PUT", "", "tags", {"SetBlobTags", kWrite}},
    {'b', "PUT", "", "tier", {"SetBlobTier", kWrite}},
    {'b', "PUT", "", "copy", {"AbortCopyBlob", kWrite}},
    {'b', "DELETE", "", "", {"DeleteBlob", kDelete}},
};

/// Returns the operation for the action that a header names.
Operation lease_operation(std::string_view action, bool of_blob) {
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
Operation put_operation(const http::Request& request, bool of_pages) {
  if (of_pages) {
    const auto write = request.header("x-ms-page-write").value_or("");
    return iequals_ascii(write, "clear") ? Operation{"ClearPage", kWrite} : Operation{"PutPage", kWrite, kAddsBytes};
  }
  const bool whole = request.header("x-ms-blob-type").has_value();
  if (!request.header("x-ms-copy-source")) return {"PutBlob", kWrite, kAddsBytes};
  return {whole ? "PutBlobFromURL" : "CopyBlob", kWrite, kAddsBytes};
}

}  // namespace

Operation BlobRoutes::operation_of(const service::Call& call) const {
  const auto& request = call.http;
  if (request.method == "OPTIONS") return {"BlobPreflightRequest", kRead};
  const auto rest = call.resource.rest;
  const auto slash = rest.find('/');
  const char level = rest.empty() ? 'a' : slash == std::string_view::npos || slash + 1 == rest.size() ? 'c' : 'b';
  const auto comp = call.parameter("comp").value_or("");
  const auto restype = call.parameter("restype").value_or("");
  if (level != 'a' && comp == "lease" && request.method == "PUT") {
    return lease_operation(request.header("x-ms-lease-action").value_or(""), level == 'b');
  }
  if (level == 'b' && request.method == "PUT" && (comp.empty() || comp == "page")) {
    return put_operation(request, comp == "page");
  }
  for (const auto& each : kNames) {
    const bool same_verb = each.method == request.method || (each.method == "GET" && request.method == "HEAD");
    if (each.level == level && same_verb && each.comp == comp && (each.restype.empty() || each.restype == restype)) {
      return each.operation;
    }
  }
  return {};
}

/// A batch succeeds regardless of its parts, so the container that it names may not exist.
std::string_view BlobRoutes::name_of(const service::Call& call) const {
  const bool batch = call.parameter_is("comp", "batch");
  return batch ? std::string_view() : std::string_view(static_cast<const Call&>(call).container);
}

}  // namespace tidemark::blob_store
