// Lists the blobs of a container.
#include "blob_store/rest/blob_operations.h"
#include "blob_store/rest/blob_xml.h"
#include "common/base/encoding.h"
#include "common/base/query.h"
#include "common/protocol/protocol_errors.h"

namespace tidemark::blob_store::operations {
namespace {

struct Wanted {
  bool metadata = false, tags = false, copy = false;
};

void write_lease(protocol::XmlWriter& out, const Lease& lease, Time now) {
  const auto state = lease.state(now);
  out.element("LeaseStatus", lease.locked(now) ? "locked" : "unlocked").element("LeaseState", name_of(state));
  if (state == LeaseState::kLeased) out.element("LeaseDuration", lease.duration_s < 0 ? "infinite" : "fixed");
}

void write_tier(protocol::XmlWriter& out, const Blob& blob) {
  if (blob.type != BlobType::kBlock && blob.tier.empty()) return;
  out.element("AccessTier", blob.tier.empty() ? "Hot" : blob.tier);
  if (blob.tier.empty()) {
    out.element("AccessTierInferred", "true");
  } else {
    out.element("AccessTierChangeTime", to_rfc1123(blob.tier_changed));
  }
}

void write_copy(protocol::XmlWriter& out, const Blob& blob) {
  const auto size = std::to_string(blob.size);
  out.element("CopyId", blob.copy->id)
      .element("CopySource", protocol::as_xml_text(without_signature(blob.copy->source)))
      .element("CopyStatus", "success")
      .element("CopyProgress", size + "/" + size)
      .element("CopyCompletionTime", to_rfc1123(blob.copy->completed));
}

void write_deletion(protocol::XmlWriter& out, const ListedBlob& item, Time now) {
  const auto left = *item.deleted + std::chrono::hours(24 * item.retained_days) - now;
  const auto days = std::max<std::int64_t>(std::chrono::floor<std::chrono::days>(left).count(), 0);
  out.element("DeletedTime", to_rfc1123(*item.deleted))
      .element("RemainingRetentionDays", static_cast<std::uint64_t>(days));
}

void write_content_headers(protocol::XmlWriter& out, const ContentHeaders& h) {
  out.element("Content-Type", protocol::as_xml_text(h.type))
      .element("Content-Encoding", protocol::as_xml_text(h.encoding))
      .element("Content-Language", protocol::as_xml_text(h.language))
      .element("Content-MD5", protocol::as_xml_text(h.md5))
      .element("Cache-Control", protocol::as_xml_text(h.cache_control))
      .element("Content-Disposition", protocol::as_xml_text(h.disposition));
}

void write_properties(protocol::XmlWriter& out, const ListedBlob& item, const Wanted& wanted, Time now) {
  const auto& blob = item.blob;
  out.begin("Properties");
  if (!item.uncommitted) {
    out.element("Creation-Time", to_rfc1123(blob.created.time()))
        .element("Last-Modified", to_rfc1123(blob.version.time()))
        .element("Etag", blob.version.etag());
  }
  out.element("Content-Length", blob.size);
  if (!item.uncommitted) write_content_headers(out, blob.headers);
  if (blob.type == BlobType::kPage) out.element("x-ms-blob-sequence-number", blob.sequence_number);
  out.element("BlobType", name_of(blob.type));
  if (!item.snapshot || !blob.tier.empty()) write_tier(out, blob);
  if (!item.snapshot) write_lease(out, blob.lease, now);
  if (blob.sealed) out.element("Sealed", "true");
  if (wanted.copy && blob.copy) write_copy(out, blob);
  out.element("ServerEncrypted", "true");
  if (item.deleted) write_deletion(out, item, now);
  if (!blob.tags.empty()) out.element("TagCount", static_cast<std::uint64_t>(blob.tags.size()));
  out.end();
}

void write_tags(protocol::XmlWriter& out, const Tags& tags) {
  out.begin("Tags").begin("TagSet");
  for (const auto& [key, value] : tags) out.begin("Tag").element("Key", key).element("Value", value).end();
  out.end().end();
}

void write_item(protocol::XmlWriter& out, const ListedBlob& item, const Wanted& wanted, Time now) {
  write_name(out.begin(item.folded ? "BlobPrefix" : "Blob"), item.name);
  if (!item.folded) {
    if (item.snapshot) out.element("Snapshot", item.snapshot->snapshot());
    if (item.deleted) out.element("Deleted", "true");
    write_properties(out, item, wanted, now);
    if (wanted.metadata) write_metadata(out, item.blob.metadata);
    if (wanted.tags && !item.blob.tags.empty()) write_tags(out, item.blob.tags);
  }
  out.end();
}

}  // namespace

Answer list_blobs(Call& call) {
  // Versions, policies and permissions are not kept, so there are none to include.
  CO_TRY(check_included(call, {"snapshots", "metadata", "uncommittedblobs", "copy", "deleted", "tags", "versions",
                               "deletedwithversions", "immutabilitypolicy", "legalhold", "permissions"}));
  if (!call.parameter("endbefore").empty()) {
    co_return fail(ErrorCode::kNotImplemented, "endBefore is for lists in Apache Arrow, which are not offered.");
  }
  auto request = CO_TRY(read_list_request(call));
  request.delimiter = call.parameter("delimiter");
  // Inclusive; a marker goes on behind it.
  if (const auto start = call.parameter("startfrom"); request.from.name < start)
    request.from = {std::string(start), {}};
  request.with_snapshots = includes(call, "snapshots");
  request.with_deleted = includes(call, "deleted");
  request.with_uncommitted = includes(call, "uncommittedblobs");
  const bool anybody = call.identity.scheme == auth::Scheme::kAnonymous;
  if (anybody && (request.with_deleted || request.with_uncommitted)) co_return fail(refusal_of_anybody(call));
  if (request.with_snapshots && !request.delimiter.empty()) {
    co_return fail(protocol::invalid_parameter("include", call.parameter("include")));
  }
  if (includes(call, "tags")) CO_TRY(call.authorize({auth::ResourceType::kContainer, "t"}));
  const auto page = CO_TRY(call.service.list_blobs(call.container_ref(), request));
  const Wanted wanted{includes(call, "metadata"), includes(call, "tags"), includes(call, "copy")};
  protocol::XmlWriter out;
  begin_list(out, call);
  out.begin("Blobs");
  for (const auto& item : page.items) write_item(out, item, wanted, call.front.now());
  out.end().element("NextMarker", write_marker(page.next));
  co_return xml_response(200, out.take());
}

}  // namespace tidemark::blob_store::operations
