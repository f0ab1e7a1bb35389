// Reads blobs: content whole and by range, properties, metadata, block lists.
#include "blob_store/model/byte_range.h"
#include "blob_store/rest/blob_operations.h"
#include "blob_store/rest/blob_xml.h"
#include "blob_store/rest/crc64.h"
#include "common/base/encoding.h"
#include "common/base/query.h"
#include "common/protocol/protocol_errors.h"

namespace tidemark::blob_store::operations {
namespace {

constexpr std::uint64_t kMaxHashedRange = 4UL << 20;

class BlobSource : public http::BodySource {
 public:
  explicit BlobSource(ContentReader reader) : reader_(std::move(reader)) {}
  Task<Result<std::string>> next() override { co_return reader_.next(); }

 private:
  ContentReader reader_;
};

void add_content_headers(http::Response& response, const Call& call, const ContentHeaders& h, bool with_md5) {
  const std::pair<const char*, const std::string*> all[] = {{"Content-Type", &h.type},
                                                            {"Content-Encoding", &h.encoding},
                                                            {"Content-Language", &h.language},
                                                            {"Content-Disposition", &h.disposition},
                                                            {"Cache-Control", &h.cache_control}};
  for (const auto& [name, stored] : all) {
    auto value = *stored;
    for (const auto& [overridden, text] : call.identity.response_overrides) {
      if (iequals_ascii(overridden, name)) value = text;
    }
    if (!value.empty()) response.set(name, std::move(value));
  }
  if (!h.md5.empty()) response.set(with_md5 ? "Content-MD5" : "x-ms-blob-content-md5", h.md5);
}

void add_copy(http::Response& response, const Blob& blob) {
  const auto size = std::to_string(blob.size);
  response.set("x-ms-copy-id", blob.copy->id);
  response.set("x-ms-copy-source", without_signature(blob.copy->source));
  response.set("x-ms-copy-status", "success");
  response.set("x-ms-copy-progress", size + "/" + size);
  response.set("x-ms-copy-completion-time", to_rfc1123(blob.copy->completed));
}

http::Response blob_response(const Call& call, const Blob& blob, bool whole) {
  auto response = empty_response(whole ? 200 : 206);
  add_version(response, blob.version);
  add_content_headers(response, call, blob.headers, whole);
  add_metadata(response, blob.metadata);
  response.set("Accept-Ranges", "bytes");
  response.set("x-ms-creation-time", to_rfc1123(blob.created.time()));
  response.set("x-ms-blob-type", std::string(name_of(blob.type)));
  if (!call.snapshot) add_lease(response, blob.lease, call.front.now());
  if (call.snapshot) response.set("x-ms-snapshot", call.snapshot->snapshot());
  response.set("x-ms-server-encrypted", "true");
  if (!blob.tags.empty()) response.set("x-ms-tag-count", std::to_string(blob.tags.size()));
  if (blob.type == BlobType::kAppend) {
    response.set("x-ms-blob-committed-block-count", std::to_string(blob.appended_blocks));
    if (blob.sealed) response.set("x-ms-blob-sealed", "true");
  }
  if (blob.type == BlobType::kPage) response.set("x-ms-blob-sequence-number", std::to_string(blob.sequence_number));
  if (blob.copy) add_copy(response, blob);
  return response;
}

void add_tier(http::Response& response, const Blob& blob) {
  if (blob.type != BlobType::kBlock && blob.tier.empty()) return;
  response.set("x-ms-access-tier", blob.tier.empty() ? "Hot" : blob.tier);
  if (blob.tier.empty()) {
    response.set("x-ms-access-tier-inferred", "true");
  } else {
    response.set("x-ms-access-tier-change-time", to_rfc1123(blob.tier_changed));
  }
}

/// The hashes of a range that a request asks for.
struct RangeHash {
  bool md5 = false, crc64 = false;
  [[nodiscard]] bool any() const { return md5 || crc64; }
};

Result<RangeHash> read_range_hash(const Call& call, const std::optional<ByteRange>& range) {
  const auto asks = [&](std::string_view name) { return iequals_ascii(call.header(name), "true"); };
  const RangeHash hash{asks("x-ms-range-get-content-md5"), asks("x-ms-range-get-content-crc64")};
  if (!hash.any()) return hash;
  if (!range || (hash.md5 && hash.crc64)) {
    const auto* const name = hash.crc64 ? "x-ms-range-get-content-crc64" : "x-ms-range-get-content-md5";
    return fail(protocol::invalid_header(name, call.header(name)));
  }
  if (range->length > kMaxHashedRange) return fail(ErrorCode::kOutOfRangeInput);
  return hash;
}

class TextSource : public http::BodySource {
 public:
  explicit TextSource(std::string text) : text_(std::move(text)) {}
  Task<Result<std::string>> next() override { co_return std::exchange(text_, {}); }

 private:
  std::string text_;
};

/// Sends the content of this length as a structured body.
void send_structured(http::Response& response, std::uint64_t length) {
  if (!response.source) response.source = std::make_unique<TextSource>(std::exchange(response.body, {}));
  response.source = structured_source(std::move(response.source), length);
  response.source_length = structured_length(length);
  response.set(std::string(kStructuredBody), std::string(kStructuredForm));
  response.set(std::string(kStructuredLength), std::to_string(length));
}

Result<http::Response> head(const Call& call) {
  auto blob = TRY(call.service.get_blob(call.blob_ref(), read_conditions(call)));
  auto response = blob_response(call, blob, true);
  // A snapshot shows its tier only if it was set.
  if (!call.snapshot || !blob.tier.empty()) add_tier(response, blob);
  response.head_content_length = blob.size;
  return response;
}

}  // namespace

Answer read_blob(Call& call) {
  if (call.http.method == "HEAD") co_return head(call);
  auto opened = CO_TRY(co_await call.service.open_anywhere(call.blob_ref(), read_conditions(call)));
  const auto size = opened.blob.size;
  auto wanted = call.header("x-ms-range");
  if (wanted.empty()) wanted = call.header("Range");
  auto range = parse_range(wanted, size);
  if (!range) {
    auto error = std::move(range.error());
    error.fields = {{"ActualObjectLength", std::to_string(size)}};
    co_return fail(std::move(error));
  }
  auto response = blob_response(call, opened.blob, !range->has_value());
  const auto part = range->value_or(ByteRange{0, size});
  auto reader = opened.read(part.offset, part.length);
  const auto hash = CO_TRY(read_range_hash(call, *range));
  if (*range) {
    response.set("Content-Range", "bytes " + std::to_string(part.offset) + "-" +
                                      std::to_string(part.offset + part.length - 1) + "/" + std::to_string(size));
  }
  if (hash.any()) {
    for (auto piece = CO_TRY(reader.next()); !piece.empty(); piece = CO_TRY(reader.next())) response.body += piece;
    if (hash.md5) response.set("Content-MD5", base64_encode(md5(response.body)));
    if (hash.crc64) response.set("x-ms-content-crc64", crc64_text(crc64(response.body)));
  } else if (part.length > 0) {
    response.source = std::make_unique<BlobSource>(std::move(reader));
    response.source_length = part.length;
  }
  if (!call.header(kStructuredBody).empty()) send_structured(response, part.length);
  co_return response;
}

Answer read_blob_metadata(Call& call) {
  auto blob = CO_TRY(call.service.get_blob(call.blob_ref(), read_conditions(call)));
  auto response = empty_response(200);
  add_version(response, blob.version);
  add_metadata(response, blob.metadata);
  co_return response;
}

Answer read_block_list(Call& call) {
  auto type = to_lower_ascii(call.parameter("blocklisttype"));
  if (type.empty()) type = "committed";
  if (type != "committed" && type != "uncommitted" && type != "all")
    co_return fail(ErrorCode::kInvalidQueryParameterValue);
  const bool anybody = call.identity.scheme == auth::Scheme::kAnonymous;
  if (anybody && type != "committed") co_return fail(refusal_of_anybody(call));
  auto lists = CO_TRY(call.service.get_block_lists(call.blob_ref(), lease_and_tags(call)));
  protocol::XmlWriter out;
  out.begin("BlockList");
  const auto write_block = [&out](const std::string& id, std::uint64_t size) {
    out.begin("Block").element("Name", id).element("Size", size).end();
  };
  if (type != "uncommitted") {
    out.begin("CommittedBlocks");
    for (const auto& extent : lists.committed) write_block(extent.block_id, extent.size);
    out.end();
  }
  if (type != "committed") {
    out.begin("UncommittedBlocks");
    for (const auto& [id, staged] : lists.staged) write_block(id, staged.size);
    out.end();
  }
  auto response = xml_response(200, out.take());
  if (lists.blob) {
    add_version(response, lists.blob->version);
    response.set("x-ms-blob-content-length", std::to_string(lists.blob->size));
  }
  co_return response;
}

}  // namespace tidemark::blob_store::operations
