// Page blobs.
#include "blob_store/rest/blob_body.h"
#include "blob_store/rest/blob_operations.h"
#include "blob_store/rest/copy_source.h"
#include "blob_store/rest/typed_blobs.h"
#include "blob_store/storage/served_calls.h"
#include "common/base/encoding.h"

namespace tidemark::blob_store::operations {
namespace {

constexpr std::uint64_t kMaxPut = 4ULL << 20;
constexpr std::size_t kMaxRanges = 10'000;
constexpr auto kEndless = std::numeric_limits<std::uint64_t>::max();

std::string range_header(const Call& call) {
  auto text = call.header("x-ms-range");
  return text.empty() ? call.header("Range") : text;
}

Result<std::uint64_t> checked_size(std::uint64_t size) {
  if (size % kPageBytes == 0 && size <= kMaxPageBlob) return size;
  return fail(protocol::invalid_header("x-ms-blob-content-length", std::to_string(size),
                                       "A multiple of 512 that is at most 8 TiB."));
}

Result<ByteRange> read_page_range(const Call& call) {
  const auto text = range_header(call);
  if (text.empty()) return fail(protocol::missing_header("x-ms-range"));
  const auto range = TRY(parse_range(text, kEndless));
  if (!range || end_of(*range) == kEndless) return fail(protocol::invalid_header("x-ms-range", text));
  if (range->offset % kPageBytes == 0 && range->length % kPageBytes == 0) return *range;
  return fail(ErrorCode::kInvalidPageRange, "Pages begin at multiples of 512 and have 512 bytes.");
}

Result<SequenceConditions> read_sequence_conditions(const Call& call) {
  return SequenceConditions{TRY(number_header(call, "x-ms-if-sequence-number-le")),
                            TRY(number_header(call, "x-ms-if-sequence-number-lt")),
                            TRY(number_header(call, "x-ms-if-sequence-number-eq"))};
}

Result<std::optional<SequenceChange>> read_sequence_change(const Call& call) {
  constexpr std::pair<std::string_view, SequenceAction> kActions[] = {
      {"max", SequenceAction::kMax}, {"update", SequenceAction::kUpdate}, {"increment", SequenceAction::kIncrement}};
  const auto text = call.header("x-ms-sequence-number-action");
  const auto number = TRY(number_header(call, "x-ms-blob-sequence-number"));
  if (text.empty()) {
    if (number) return fail(protocol::missing_header("x-ms-sequence-number-action"));
    return std::optional<SequenceChange>();
  }
  const auto* found = std::ranges::find_if(kActions, [&](const auto& each) { return iequals_ascii(each.first, text); });
  if (found == std::end(kActions)) return fail(protocol::invalid_header("x-ms-sequence-number-action", text));
  const bool increments = found->second == SequenceAction::kIncrement;
  if (increments && number) return fail(protocol::invalid_header("x-ms-blob-sequence-number", std::to_string(*number)));
  if (!increments && !number) return fail(protocol::missing_header("x-ms-blob-sequence-number"));
  return std::optional(SequenceChange{found->second, number.value_or(0)});
}

bool has_content_headers(const ContentHeaders& h) {
  return !(h.type.empty() && h.encoding.empty() && h.language.empty() && h.disposition.empty() &&
           h.cache_control.empty() && h.md5.empty());
}

http::Response changed_pages(unsigned status, const ChangedBlob& blob) {
  auto response = written(status, blob.version);
  response.set("x-ms-blob-sequence-number", std::to_string(blob.sequence_number.value_or(0)));
  return response;
}

/// Checks that the body, or the range of the source, is declared to be as long as the range of pages.
Result<void> check_size(const Call& call, const ByteRange& range) {
  if (!names_source(call)) {
    const auto declared = call.http.body->content_length();
    if (!declared || *declared == range.length) return {};
    return fail(
        protocol::invalid_header("Content-Length", std::to_string(*declared), "It is not the size of the range."));
  }
  const auto text = call.header("x-ms-source-range");
  if (text.empty()) return fail(protocol::missing_header("x-ms-source-range"));
  const auto source = TRY(parse_range(text, kEndless));
  if (source && source->length == range.length) return {};
  return fail(protocol::invalid_header("x-ms-source-range", text, "It is not as long as the range of pages."));
}

Answer update_pages(Call& call, ByteRange range) {
  if (range.length > kMaxPut) co_return fail(ErrorCode::kRequestBodyTooLarge);
  CO_TRY(check_size(call, range));
  const auto wanted = CO_TRY(read_sequence_conditions(call));
  CO_TRY(check_put(call));
  auto body = CO_TRY(co_await receive_part(call, range.length));
  const auto payload = body.payload.id;
  if (body.payload.size != range.length) {
    call.service.abandon(payload);
    co_return fail(ErrorCode::kInvalidInput);
  }
  auto blob = co_await call.service.call(
      calls::PutPages{call.blob_ref(), range, std::move(body.payload), wanted, read_conditions(call)});
  if (!blob) call.service.abandon(payload);
  auto response = changed_pages(201, CO_TRY(blob));
  add_part_hash(response, call, body);
  co_return response;
}

Result<PageRangesRequest> read_ranges_request(const Call& call) {
  PageRangesRequest request;
  if (!call.header("x-ms-previous-snapshot-url").empty()) return fail(ErrorCode::kNotImplemented);
  if (const auto text = range_header(call); !text.empty()) {
    request.range = TRY(parse_range(text, kEndless));
    if (!request.range) return fail(protocol::invalid_header("Range", text));
  }
  if (const auto text = call.parameter("prevsnapshot"); !text.empty()) {
    request.previous = Stamp::parse_snapshot(text);
    if (!request.previous) return fail(protocol::invalid_parameter("prevsnapshot", text));
    const bool newer = call.snapshot && request.previous->ticks > call.snapshot->ticks;
    if (newer) return fail(ErrorCode::kPreviousSnapshotCannotBeNewer);
  }
  const auto list = TRY(read_list_request(call, kMaxRanges));
  request.limit = list.limit;
  if (call.parameter("maxresults").empty()) request.limit = kMaxRanges;
  if (list.from.name.empty()) return request;
  const auto from = parse_number<std::uint64_t>(list.from.name);
  if (!from) return fail(protocol::invalid_parameter("marker", call.parameter("marker")));
  request.from = *from;
  return request;
}

}  // namespace

Answer create_page_blob(Call& call, NewContent content, Conditions conditions) {
  CO_TRY(require_no_body(call));
  const auto size = CO_TRY(number_header(call, "x-ms-blob-content-length"));
  if (!size) co_return fail(protocol::missing_header("x-ms-blob-content-length"));
  CO_TRY(checked_size(*size));
  const auto sequence_number = CO_TRY(number_header(call, "x-ms-blob-sequence-number")).value_or(0);
  co_return written(201, CO_TRY(co_await call.service.call(calls::CreatePageBlob{
                             call.blob_ref(), std::move(content), *size, sequence_number, std::move(conditions)})));
}

Answer put_page(Call& call) {
  const auto what = to_lower_ascii(call.header("x-ms-page-write"));
  if (what.empty()) co_return fail(protocol::missing_header("x-ms-page-write"));
  if (what != "update" && what != "clear") co_return fail(protocol::invalid_header("x-ms-page-write", what));
  const auto range = CO_TRY(read_page_range(call));
  if (what == "update") co_return co_await update_pages(call, range);
  if (names_source(call)) co_return fail(protocol::invalid_header(kSourceHeader, call.header(kSourceHeader)));
  CO_TRY(require_no_body(call));
  const auto wanted = CO_TRY(read_sequence_conditions(call));
  co_return changed_pages(
      201,
      CO_TRY(co_await call.service.call(calls::ClearPages{call.blob_ref(), range, wanted, read_conditions(call)})));
}

bool sets_page_properties(const Call& call) {
  return !call.header("x-ms-blob-content-length").empty() || !call.header("x-ms-sequence-number-action").empty() ||
         !call.header("x-ms-blob-sequence-number").empty();
}

Answer set_page_properties(Call& call) {
  PageProperties properties;
  properties.size = CO_TRY(number_header(call, "x-ms-blob-content-length"));
  if (properties.size) CO_TRY(checked_size(*properties.size));
  properties.sequence = CO_TRY(read_sequence_change(call));
  auto headers = CO_TRY(read_content_headers(call, false));
  if (has_content_headers(headers)) properties.headers = std::move(headers);
  co_return changed_pages(200, CO_TRY(co_await call.service.call(calls::SetPageProperties{
                                   call.blob_ref(), std::move(properties), read_conditions(call)})));
}

Answer read_page_ranges(Call& call) {
  const auto request = CO_TRY(read_ranges_request(call));
  const auto found = CO_TRY(call.service.get_page_ranges(call.blob_ref(), request, read_conditions(call)));
  protocol::XmlWriter out;
  out.begin("PageList");
  for (const auto& range : found.ranges) {
    out.begin(range.cleared ? "ClearRange" : "PageRange")
        .element("Start", range.start)
        .element("End", range.start + range.size - 1)
        .end();
  }
  if (found.next) out.element("NextMarker", write_marker({std::to_string(*found.next), {}}));
  auto response = xml_response(200, out.take());
  add_version(response, found.blob.version);
  response.set("x-ms-blob-content-length", std::to_string(found.blob.size));
  co_return response;
}

}  // namespace tidemark::blob_store::operations
