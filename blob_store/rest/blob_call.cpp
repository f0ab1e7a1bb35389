#include "blob_store/rest/blob_call.h"

#include <algorithm>

#include "blob_store/model/names.h"
#include "common/base/encoding.h"
#include "common/base/numbers.h"
#include "common/base/text.h"
#include "common/protocol/protocol_errors.h"

namespace tidemark::blob_store {
namespace {
/// Reads "version!name" in base64; the version is missing if the place is not that of a kept blob.
std::optional<ListPlace> read_marker(std::string_view marker) {
  const auto text = base64_decode(marker);
  const auto mark = text ? text->find('!') : std::string::npos;
  if (mark == std::string::npos) return std::nullopt;
  ListPlace place{text->substr(mark + 1), {}};
  if (mark == 0) return place;
  const auto version = parse_number<std::uint64_t>(std::string_view(*text).substr(0, mark));
  if (!version) return std::nullopt;
  place.kept = Stamp{*version};
  return place;
}
}  // namespace

Result<void> Call::authorize(const auth::Need& need) const {
  return auth::authorize(identity, need, blob.empty() ? container : container + "/" + blob);
}

Result<void> split_resource(Call& call) {
  const auto rest = call.resource.rest;
  const auto slash = std::min(rest.find('/'), rest.size());
  auto container = percent_decode(rest.substr(0, slash), false);
  auto blob = percent_decode(rest.substr(std::min(slash + 1, rest.size())), false);
  if (!container || !blob) return fail(ErrorCode::kRequestUrlFailedToParse);
  call.container = std::move(*container);
  call.blob = std::move(*blob);
  // As in the service; the resource that a signature was made for is changed likewise.
  for (auto* name : {&call.blob, &call.identity.resource}) *name = blob_name_of(std::move(*name));
  return {};
}

Conditions read_conditions(const Call& call) {
  Conditions conditions;
  conditions.if_match = parse_etags(call.header("If-Match"));
  conditions.if_none_match = parse_etags(call.header("If-None-Match"));
  conditions.if_modified_since = parse_rfc1123(call.header("If-Modified-Since"));
  conditions.if_unmodified_since = parse_rfc1123(call.header("If-Unmodified-Since"));
  const auto lease_id = call.header("x-ms-lease-id");
  conditions.lease_id = parse_lease_id(lease_id).value_or(lease_id);
  conditions.if_tags = call.if_tags;
  return conditions;
}

Conditions lease_and_tags(const Call& call) {
  Conditions conditions;
  conditions.lease_id = read_conditions(call).lease_id;
  conditions.if_tags = call.if_tags;
  return conditions;
}

Conditions write_conditions(const Call& call) {
  auto conditions = read_conditions(call);
  conditions.only_creates = !call.authorize({auth::ResourceType::kObject, "w"});
  return conditions;
}

Result<void> read_snapshot(Call& call) {
  const auto text = call.parameter("snapshot");
  if (text.empty()) return {};
  call.snapshot = Stamp::parse_snapshot(text);
  return call.snapshot ? Result<void>() : fail(protocol::invalid_parameter("snapshot", text));
}

Result<TagCondition> read_tag_condition(const Call& call, std::string_view header) {
  const auto text = call.header(header);
  if (text.empty()) return TagCondition();
  auto condition = TagCondition::parse(text);
  if (!condition) return fail(protocol::invalid_header(header, text, condition.error().message));
  return condition;
}

Result<std::string> read_tier(const Call& call) {
  const auto text = call.header("x-ms-access-tier");
  if (text.empty()) return std::string();
  const auto tier = find_tier(text);
  return tier ? Result<std::string>(*tier) : fail(protocol::invalid_header("x-ms-access-tier", text));
}

bool speaks_before(const Call& call, std::string_view version) {
  auto spoken = call.header("x-ms-version");
  if (spoken.empty()) spoken = call.identity.version;
  return !spoken.empty() && spoken < version;
}

Result<void> check_offered(const Call& call) {
  constexpr std::string_view kKept[] = {"x-ms-encryption-key",       "x-ms-encryption-scope",
                                        "x-ms-source-encryption-",   "x-ms-default-encryption-scope",
                                        "x-ms-immutability-policy-", "x-ms-legal-hold"};
  for (const auto& [name, value] : call.http.headers) {
    if (!iequals_ascii(std::string_view(name).substr(0, 5), "x-ms-")) continue;
    const auto wants = [&](std::string_view start) {
      return iequals_ascii(std::string_view(name).substr(0, start.size()), start);
    };
    if (std::ranges::any_of(kKept, wants)) {
      return fail(ErrorCode::kNotImplemented, "What the header " + std::string(name) + " asks for is not offered.");
    }
  }
  return {};
}

Error refusal_of_anybody(const Call& call) {
  return make_error(speaks_before(call, "2019-12-12") ? ErrorCode::kResourceNotFound
                                                      : ErrorCode::kNoAuthenticationInformation);
}

Result<ContentHeaders> read_content_headers(const Call& call, bool plain) {
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
  if (!base64_decode(headers.md5)) return fail(ErrorCode::kInvalidMd5);
  return headers;
}

Result<ListRequest> read_list_request(const Call& call, std::size_t most) {
  ListRequest list;
  list.prefix = call.parameter("prefix");
  if (const auto text = call.parameter("maxresults"); !text.empty()) {
    const auto number = parse_number<std::int64_t>(text);
    if (!number) return fail(ErrorCode::kInvalidQueryParameterValue);
    if (*number <= 0) return fail(ErrorCode::kOutOfRangeQueryParameterValue);
    list.limit = std::min(static_cast<std::size_t>(*number), most);
  }
  if (const auto marker = call.parameter("marker"); !marker.empty()) {
    auto place = read_marker(marker);
    if (!place) return fail(ErrorCode::kInvalidQueryParameterValue);
    list.from = std::move(*place);
  }
  return list;
}

std::string write_marker(const ListPlace& next) {
  if (next.name.empty()) return {};
  return base64_encode((next.kept ? std::to_string(next.kept->ticks) : std::string()) + "!" + next.name);
}

bool includes(const Call& call, std::string_view what) {
  const auto list = "," + to_lower_ascii(call.parameter("include")) + ",";
  return list.find("," + std::string(what) + ",") != std::string::npos;
}

Result<void> check_included(const Call& call, std::initializer_list<std::string_view> known) {
  for (auto left = call.parameter("include"); !left.empty();) {
    const auto what = take_item(left);
    const auto is_what = [what](std::string_view each) { return iequals_ascii(each, what); };
    if (!what.empty() && std::ranges::none_of(known, is_what)) {
      return fail(protocol::invalid_parameter("include", call.parameter("include")));
    }
  }
  return {};
}

void begin_list(protocol::XmlWriter& out, const Call& call) {
  out.begin("EnumerationResults").attribute("ServiceEndpoint", call.endpoint() + "/");
  if (!call.container.empty()) out.attribute("ContainerName", call.container);
  for (const auto& [parameter, name] :
       {std::pair{"prefix", "Prefix"}, {"marker", "Marker"}, {"maxresults", "MaxResults"}}) {
    out.optional_element(name, protocol::as_xml_text(call.parameter(parameter)));
  }
  if (!call.container.empty()) out.optional_element("Delimiter", protocol::as_xml_text(call.parameter("delimiter")));
}

void add_lease(http::Response& response, const Lease& lease, Time now) {
  const auto state = lease.state(now);
  response.set("x-ms-lease-status", lease.locked(now) ? "locked" : "unlocked");
  response.set("x-ms-lease-state", std::string(name_of(state)));
  if (state == LeaseState::kLeased) response.set("x-ms-lease-duration", lease.duration_s < 0 ? "infinite" : "fixed");
}

void add_version(http::Response& response, const Stamp& version) {
  response.set("ETag", "\"" + version.etag() + "\"");
  response.set("Last-Modified", to_rfc1123(version.time()));
}

}  // namespace tidemark::blob_store
