// Reading blobs: content whole and by range, properties, metadata, block lists.
#include "blob_store/model/byte_range.h"
#include "blob_store/rest/blob_routes.h"
#include "common/base/encoding.h"

namespace tidemark::blob_store {
namespace {

constexpr std::uint64_t kMaxHashedRange = 4UL << 20;

class BlobSource : public http::BodySource {
 public:
  explicit BlobSource(PayloadReader reader) : reader_(std::move(reader)) {}
  Task<Result<std::string>> next() override { co_return reader_.next(); }

 private:
  PayloadReader reader_;
};

Result<void> may_read(const Call& call) { return call.authorize({auth::ResourceType::kObject, "r"}); }

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

http::Response blob_response(const Call& call, const Blob& blob, bool whole) {
  auto response = empty_response(whole ? 200 : 206);
  add_version(response, blob.version);
  add_content_headers(response, call, blob.headers, whole);
  add_metadata(response, blob.metadata);
  response.set("Accept-Ranges", "bytes");
  response.set("x-ms-creation-time", to_rfc1123(blob.created.time()));
  response.set("x-ms-blob-type", "BlockBlob");
  response.set("x-ms-lease-status", "unlocked");
  response.set("x-ms-lease-state", "available");
  response.set("x-ms-server-encrypted", "true");
  return response;
}

Result<http::Response> head(const Call& call) {
  auto blob = TRY(call.service.get_blob(call.blob_ref(), read_conditions(call)));
  auto response = blob_response(call, blob, true);
  response.set("x-ms-access-tier", "Hot");
  response.set("x-ms-access-tier-inferred", "true");
  response.head_content_length = blob.size;
  return response;
}

Result<std::string> read_whole(PayloadReader reader) {
  std::string out;
  while (true) {
    auto piece = reader.next();
    if (!piece || piece->empty()) return piece ? Result<std::string>(std::move(out)) : std::move(piece);
    out += *piece;
  }
}

}  // namespace

Result<http::Response> read_blob(const Call& call) {
  TRY(may_read(call));
  if (call.request.method == "HEAD") return head(call);
  auto opened = TRY(call.service.open_blob(call.blob_ref(), read_conditions(call)));
  const auto size = opened.blob.size;
  auto wanted = call.header("x-ms-range");
  if (wanted.empty()) wanted = call.header("Range");
  auto range = parse_range(wanted, size);
  if (!range) {
    auto error = std::move(range.error());
    error.fields = {{"ActualObjectLength", std::to_string(size)}};
    return fail(std::move(error));
  }
  auto response = blob_response(call, opened.blob, !range->has_value());
  const auto part = range->value_or(ByteRange{0, size});
  PayloadReader reader(opened.snapshot, std::move(opened.extents), part.offset, part.length);
  const bool hashed = iequals_ascii(call.header("x-ms-range-get-content-md5"), "true");
  if (hashed && !*range) return fail(ErrorCode::kInvalidHeaderValue);
  if (hashed && part.length > kMaxHashedRange) return fail(ErrorCode::kOutOfRangeInput);
  if (*range) {
    response.set("Content-Range", "bytes " + std::to_string(part.offset) + "-" +
                                      std::to_string(part.offset + part.length - 1) + "/" + std::to_string(size));
  }
  if (hashed) {
    auto slice = TRY(read_whole(std::move(reader)));
    response.set("Content-MD5", base64_encode(md5(slice)));
    response.body = std::move(slice);
  } else if (part.length > 0) {
    response.source = std::make_unique<BlobSource>(std::move(reader));
    response.source_length = part.length;
  }
  return response;
}

Result<http::Response> read_blob_metadata(const Call& call) {
  TRY(may_read(call));
  auto blob = TRY(call.service.get_blob(call.blob_ref(), read_conditions(call)));
  auto response = empty_response(200);
  add_version(response, blob.version);
  add_metadata(response, blob.metadata);
  return response;
}

Result<http::Response> read_block_list(const Call& call) {
  TRY(may_read(call));
  auto type = call.parameter("blocklisttype");
  if (type.empty()) type = "committed";
  if (type != "committed" && type != "uncommitted" && type != "all")
    return fail(ErrorCode::kInvalidQueryParameterValue);
  auto lists = TRY(call.service.get_block_lists(call.blob_ref()));
  const auto block = [](const std::string& id, std::uint64_t size) {
    return "<Block>" + element("Name", id) + element("Size", std::to_string(size)) + "</Block>";
  };
  std::string body("<BlockList>");
  if (type != "uncommitted") {
    body += "<CommittedBlocks>";
    for (const auto& extent : lists.committed) body += block(extent.block_id, extent.size);
    body += "</CommittedBlocks>";
  }
  if (type != "committed") {
    body += "<UncommittedBlocks>";
    for (const auto& [id, staged] : lists.staged) body += block(id, staged.size);
    body += "</UncommittedBlocks>";
  }
  auto response = xml_response(body + "</BlockList>");
  if (lists.blob) {
    add_version(response, lists.blob->version);
    response.set("x-ms-blob-content-length", std::to_string(lists.blob->size));
  }
  return response;
}

}  // namespace tidemark::blob_store
