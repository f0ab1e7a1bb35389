#include "blob_store/rest/copy_source.h"

#include "blob_store/model/byte_range.h"
#include "blob_store/rest/checksums.h"
#include "common/auth/authenticator.h"
#include "common/base/encoding.h"
#include "common/base/text.h"
#include "common/protocol/protocol_errors.h"

namespace tidemark::blob_store {
namespace {

constexpr std::string_view kHeader = "x-ms-copy-source";

struct Url {
  std::string_view host, path, query;
};

std::optional<Url> split_url(std::string_view text) {
  const auto scheme = text.find("://");
  if (scheme == std::string_view::npos) return std::nullopt;
  const auto kind = to_lower_ascii(text.substr(0, scheme));
  if (kind != "http" && kind != "https") return std::nullopt;
  text.remove_prefix(scheme + 3);
  const auto slash = std::min(text.find('/'), text.size());
  Url url{text.substr(0, slash), text.substr(slash), {}};
  if (const auto question = url.path.find('?'); question != std::string_view::npos) {
    url.query = url.path.substr(question + 1);
    url.path = url.path.substr(0, question);
  }
  return url.host.empty() ? std::nullopt : std::optional(url);
}

std::string_view without_port(std::string_view host) { return host.substr(0, host.rfind(':')); }

bool is_loopback_name(std::string_view host) { return host == "127.0.0.1" || host == "localhost" || host == "[::1]"; }

/// Whether the URL leads to this store: the host that the client used, another name of this machine with the same port,
/// or an account's name at the service.
bool leads_here(const Call& call, std::string_view host) {
  if (iequals_ascii(host, call.host)) return true;
  const auto port = [](std::string_view text) { return text.substr(without_port(text).size()); };
  if (is_loopback_name(without_port(host)) && is_loopback_name(without_port(call.host)) &&
      port(host) == port(call.host)) {
    return true;
  }
  const auto dot = host.find('.');
  return dot != std::string_view::npos && host.substr(dot) == ".blob.core.windows.net";
}

std::unexpected<Error> not_verified(std::string why) {
  return fail(ErrorCode::kCannotVerifyCopySource, std::move(why));
}

Result<Conditions> read_source_conditions(const Call& call) {
  Conditions conditions;
  conditions.if_match = parse_etags(call.header("x-ms-source-if-match"));
  conditions.if_none_match = parse_etags(call.header("x-ms-source-if-none-match"));
  conditions.if_modified_since = parse_rfc1123(call.header("x-ms-source-if-modified-since"));
  conditions.if_unmodified_since = parse_rfc1123(call.header("x-ms-source-if-unmodified-since"));
  conditions.if_tags = TRY(read_tag_condition(call, "x-ms-source-if-tags"));
  return conditions;
}

/// Whether the source may be read without a signature of its own.
Result<bool> is_open(const Call& call, const Call& source) {
  const bool owner = call.identity.scheme == auth::Scheme::kSharedKey && call.account() == source.account();
  if (owner) return true;
  const auto container = call.service.get_container(source.container_ref());
  return container && !container->public_access.empty();
}

Result<Checksums::Wanted> wanted_of_source(const Call& call) {
  constexpr std::string_view kCrc64 = "x-ms-source-content-crc64";
  Checksums::Wanted wanted{{call.header("x-ms-source-content-md5"), call.header(kCrc64)}};
  TRY(check_declared_sums(wanted.declared, kCrc64));
  wanted.md5 = !wanted.declared.md5.empty();
  wanted.crc64 = !wanted.md5;
  return wanted;
}

Result<void> check_allowed(const Call& call, Call& source) {
  auto known = call.front.identify(source);
  TRY(split_resource(source));
  TRY(read_snapshot(source));
  if (known) known = source.authorize({auth::ResourceType::kObject, "r"});
  if (known || TRY(is_open(call, source))) return {};
  return not_verified("The copy source may not be read: its URL needs a SAS, or the request the key of its account.");
}

}  // namespace

Result<CopySource> read_copy_source(const Call& call) {
  CopySource source;
  source.url = call.header(kHeader);
  const auto url = split_url(source.url);
  if (!url) return fail(protocol::invalid_header(kHeader, source.url));
  if (!leads_here(call, url->host)) {
    return not_verified("The copy source is not a blob of this store. Copies from elsewhere are not made.");
  }
  http::Request request;
  request.method = "GET";
  request.path = url->path;
  request.query = url->query;
  Call read(call.front, request, call.service);
  read.host = url->host;
  TRY(check_allowed(call, read));
  if (read.blob.empty()) return fail(protocol::invalid_header(kHeader, source.url));
  source.ref = read.blob_ref();
  source.conditions = TRY(read_source_conditions(call));
  return source;
}

Task<Result<ReceivedBody>> receive_from_source(Call& call, const CopySource& source, std::uint64_t limit) {
  const auto opened = CO_TRY(call.service.open_blob(source.ref, source.conditions));
  const auto range = CO_TRY(parse_range(call.header("x-ms-source-range"), opened.blob.size));
  const auto part = range.value_or(ByteRange{0, opened.blob.size});
  if (part.length > limit) co_return fail(ErrorCode::kRequestBodyTooLarge);
  auto reader = opened.read(part.offset, part.length);
  auto writer = call.service.new_payload();
  Checksums checksums(CO_TRY(wanted_of_source(call)));
  const auto copy = [&]() -> Task<Result<ReceivedBody>> {
    for (auto piece = CO_TRY(reader.next()); !piece.empty(); piece = CO_TRY(reader.next())) {
      checksums.update(piece);
      CO_TRY(co_await writer.append(std::move(piece)));
    }
    auto sums = CO_TRY(checksums.finish());
    auto payload = CO_TRY(co_await writer.finish());
    co_return ReceivedBody{std::move(payload), std::move(sums.md5), std::move(sums.crc64)};
  };
  auto written = co_await copy();
  if (!written && writer.id() != 0) co_await call.service.abandon(writer.id());
  co_return written;
}

}  // namespace tidemark::blob_store
