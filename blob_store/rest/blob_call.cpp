#include "blob_store/rest/blob_call.h"

#include <charconv>

#include "blob_store/model/names.h"
#include "common/base/encoding.h"
#include "common/protocol/xml.h"

namespace tidemark::blob_store {
namespace {
constexpr std::string_view kMetadataPrefix = "x-ms-meta-";
constexpr std::size_t kMaxPage = 5000;
}  // namespace

std::string Call::parameter(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (iequals_ascii(key, name)) return value;
  }
  return {};
}

std::string Call::header(std::string_view name) const { return std::string(request.header(name).value_or("")); }

Result<void> Call::authorize(const auth::Need& need) const {
  return auth::authorize(identity, need, blob.empty() ? container : container + "/" + blob);
}

Result<Metadata> read_metadata(const Call& call) {
  Metadata metadata;
  for (const auto& [name, value] : call.request.headers) {
    if (!iequals_ascii(name.substr(0, kMetadataPrefix.size()), kMetadataPrefix)) continue;
    metadata.emplace_back(name.substr(kMetadataPrefix.size()), value);
  }
  TRY(check_metadata(metadata));
  return metadata;
}

Conditions read_conditions(const Call& call) {
  Conditions conditions;
  conditions.if_match = parse_etags(call.header("If-Match"));
  conditions.if_none_match = parse_etags(call.header("If-None-Match"));
  conditions.if_modified_since = parse_rfc1123(call.header("If-Modified-Since"));
  conditions.if_unmodified_since = parse_rfc1123(call.header("If-Unmodified-Since"));
  return conditions;
}

ContentHeaders read_content_headers(const Call& call, bool plain) {
  const auto pick = [&](std::string_view own, std::string_view standard) {
    auto value = call.header(own);
    return value.empty() && plain ? call.header(standard) : value;
  };
  ContentHeaders headers;
  headers.type = pick("x-ms-blob-content-type", "Content-Type");
  headers.encoding = pick("x-ms-blob-content-encoding", "Content-Encoding");
  headers.language = pick("x-ms-blob-content-language", "Content-Language");
  headers.disposition = pick("x-ms-blob-content-disposition", "Content-Disposition");
  headers.cache_control = pick("x-ms-blob-cache-control", "Cache-Control");
  headers.md5 = pick("x-ms-blob-content-md5", "Content-MD5");
  return headers;
}

Result<ListRequest> read_list_request(const Call& call) {
  ListRequest list;
  list.prefix = call.parameter("prefix");
  if (const auto text = call.parameter("maxresults"); !text.empty()) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return fail(ErrorCode::kInvalidQueryParameterValue);
    if (number <= 0) return fail(ErrorCode::kOutOfRangeQueryParameterValue);
    list.limit = std::min(static_cast<std::size_t>(number), kMaxPage);
  }
  if (const auto marker = call.parameter("marker"); !marker.empty()) {
    auto from = base64_decode(marker);
    if (!from) return fail(ErrorCode::kInvalidQueryParameterValue);
    list.from = std::move(*from);
  }
  return list;
}

std::string write_marker(const std::string& next) { return next.empty() ? next : base64_encode(next); }

bool includes(const Call& call, std::string_view what) {
  const auto list = "," + to_lower_ascii(call.parameter("include")) + ",";
  return list.find("," + std::string(what) + ",") != std::string::npos;
}

void add_version(http::Response& response, const Version& version) {
  response.set("ETag", "\"" + version.etag() + "\"");
  response.set("Last-Modified", to_rfc1123(version.time()));
}

void add_metadata(http::Response& response, const Metadata& metadata) {
  for (const auto& [name, value] : metadata) response.set("x-ms-meta-" + name, value);
}

http::Response empty_response(unsigned status) {
  http::Response response;
  response.status = status;
  return response;
}

http::Response xml_response(std::string body) {
  http::Response response;
  response.set("Content-Type", "application/xml");
  response.body = std::string(protocol::kXmlDeclaration) + std::move(body);
  return response;
}

}  // namespace tidemark::blob_store
