// Tags, searches by tags, and tiers.
#include "blob_store/model/tags.h"
#include "blob_store/rest/blob_body.h"
#include "blob_store/rest/blob_operations.h"
#include "blob_store/rest/blob_xml.h"
#include "blob_store/storage/served_calls.h"
#include "common/base/encoding.h"
#include "common/protocol/protocol_errors.h"

namespace tidemark::blob_store::operations {
namespace {

constexpr std::size_t kMaxTagsBytes = 64UL << 10;

Result<TagSearch> read_search(const Call& call) {
  const auto text = call.parameter("where");
  if (text.empty()) return fail(protocol::missing_parameter("where"));
  auto search = TagSearch::parse(text, call.container.empty() ? SearchedIn::kAccount : SearchedIn::kContainer);
  if (search) return search;
  auto error = protocol::invalid_parameter("where", text);
  error.message = std::move(search.error().message);
  return fail(std::move(error));
}

void write_found(protocol::XmlWriter& out, const FoundBlob& found) {
  write_name(out.begin("Blob"), found.name);
  out.element("ContainerName", found.container);
  write_tags(out, found.tags);
  out.end();
}

}  // namespace

Answer get_tags(Call& call) {
  const auto blob = CO_TRY(call.service.get_blob(call.blob_ref(), lease_and_tags(call)));
  protocol::XmlWriter out;
  write_tags(out, blob.tags);
  co_return xml_response(200, out.take());
}

Answer set_tags(Call& call) {
  if (call.snapshot && speaks_before(call, "2020-08-04")) {
    co_return fail(protocol::invalid_parameter("snapshot", call.parameter("snapshot")));
  }
  const auto text = CO_TRY(co_await receive_text(call, kMaxTagsBytes));
  auto tags = CO_TRY(parse_tags(text));
  CO_TRY(co_await call.service.call(calls::SetTags{call.blob_ref(), std::move(tags), lease_and_tags(call)}));
  co_return empty_response(204);
}

Answer find_blobs(Call& call) {
  const auto list = CO_TRY(read_list_request(call));
  const TagFind find{CO_TRY(read_search(call)), call.container, list.from, list.limit};
  const auto page = CO_TRY(call.service.find_by_tags(call.account(), find));
  protocol::XmlWriter out;
  out.begin("EnumerationResults").attribute("ServiceEndpoint", call.endpoint() + "/");
  for (const auto& [parameter, name] :
       {std::pair{"marker", "Marker"}, {"where", "Where"}, {"maxresults", "MaxResults"}}) {
    out.optional_element(name, protocol::as_xml_text(call.parameter(parameter)));
  }
  out.begin("Blobs");
  for (const auto& found : page.items) write_found(out, found);
  out.end().element("NextMarker", write_marker(page.next));
  co_return xml_response(200, out.take());
}

Answer set_tier(Call& call) {
  auto tier = CO_TRY(read_tier(call));
  if (tier.empty()) co_return fail(protocol::missing_header("x-ms-access-tier"));
  const auto priority = call.header("x-ms-rehydrate-priority");
  if (!priority.empty() && !iequals_ascii(priority, "Standard") && !iequals_ascii(priority, "High")) {
    co_return fail(protocol::invalid_header("x-ms-rehydrate-priority", priority));
  }
  const bool rehydrated =
      CO_TRY(co_await call.service.call(calls::SetTier{call.blob_ref(), std::move(tier), lease_and_tags(call)}));
  co_return empty_response(rehydrated ? 202 : 200);
}

}  // namespace tidemark::blob_store::operations
