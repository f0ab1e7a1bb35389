#include "blob_store/rest/copy_source.h"

#include <boost/asio/post.hpp>

#include "blob_store/model/byte_range.h"
#include "blob_store/rest/checksums.h"
#include "common/auth/authenticator.h"
#include "common/base/encoding.h"
#include "common/base/text.h"
#include "common/protocol/protocol_errors.h"

namespace tidemark::blob_store {
namespace {

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

/// Tells whether the URL leads to this store: to the host that the client used, to another name of this machine with
/// the same port, or to the name of an account at the service.
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

/// Tells the client why the source may not be read; the source's status becomes the status of the answer.
std::unexpected<Error> refused(const Error& by_source, std::string why) {
  auto error = make_error(ErrorCode::kCannotVerifyCopySource, std::move(why));
  error.fields = {{"CopySourceStatusCode", std::to_string(http_status_of(by_source.code))},
                  {"CopySourceErrorCode", std::string(azure_name_of(by_source.code))},
                  {"CopySourceErrorMessage", by_source.message}};
  return fail(std::move(error));
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

/// Tells whether the source may be read without a signature of its own. `letter`: the permission that is needed.
Result<bool> is_open(const Call& call, const Call& source, std::string_view letter) {
  const bool by_itself =
      call.identity.scheme == auth::Scheme::kSharedKey || call.identity.scheme == auth::Scheme::kBearer;
  const bool reader =
      by_itself && auth::authorize(call.identity, {auth::ResourceType::kObject, letter}, {}).has_value();
  if (reader && call.account() == source.account()) return true;
  if (letter != "r") return false;
  const auto container = call.service.get_container(source.container_ref());
  return container && !container->public_access.empty();
}

Result<Checksums::Wanted> wanted_of_source(const Call& call) {
  constexpr std::string_view kCrc64 = "x-ms-source-content-crc64";
  Checksums::Wanted wanted{{call.header(kSourceMd5), call.header(kCrc64)}};
  TRY(check_declared_sums(wanted.declared, kCrc64));
  wanted.md5 = !wanted.declared.md5.empty();
  wanted.crc64 = !wanted.md5;
  return wanted;
}

Result<void> check_allowed(const Call& call, Call& source, bool with_tags) {
  const auto known = call.front.identify(source);
  TRY(split_resource(source));
  TRY(read_snapshot(source));
  // A signature in the URL decides, even if the source could be read without it.
  const bool anybody = known && source.identity.scheme == auth::Scheme::kAnonymous;
  const auto check = [&](std::string_view letter, std::string_view why) -> Result<void> {
    const auto own = known ? source.authorize({auth::ResourceType::kObject, letter}) : known;
    if (own || (anybody && TRY(is_open(call, source, letter)))) return {};
    return refused(anybody ? refusal_of_anybody(source) : own.error(), std::string(why));
  };
  TRY(check(
      "r",
      "The copy source may not be read: its URL needs a SAS that allows it, or no SAS and a request by the key of its "
      "account or a token that may read."));
  return with_tags ? check("t", "The tags of the copy source may not be read.") : Result<void>();
}

Task<Result<OpenedBlob>> open_source(const Call& call, const CopySource& source) {
  auto opened = co_await call.service.open_anywhere(source.ref, source.conditions);
  const bool unmet = opened.failed_with(ErrorCode::kConditionNotMet) || opened.failed_with(ErrorCode::kNotModified);
  if (unmet) co_return fail(ErrorCode::kSourceConditionNotMet);
  co_return opened;
}

/// Lets others have their turn after a number of pieces or bytes: a source may consist of many small pieces.
class Turns {
 public:
  bool over(std::size_t bytes) {
    constexpr std::size_t kPieces = 64;
    constexpr std::size_t kBytes = 1UL << 20;
    bytes_ += bytes;
    if (++pieces_ < kPieces && bytes_ < kBytes) return false;
    pieces_ = bytes_ = 0;
    return true;
  }

 private:
  std::size_t pieces_ = 0, bytes_ = 0;
};

/// Without a writer, only the sums are checked.
Task<Result<Sums>> read_all(ContentReader reader, PayloadWriter* writer, Checksums::Wanted wanted) {
  const auto executor = co_await asio::this_coro::executor;
  Checksums checksums(std::move(wanted));
  Turns turns;
  for (auto piece = CO_TRY(reader.next()); !piece.empty(); piece = CO_TRY(reader.next())) {
    const bool turn_over = turns.over(piece.size());
    checksums.update(piece);
    if (writer != nullptr) CO_TRY(co_await writer->append(std::move(piece)));
    if (turn_over) co_await asio::post(executor, asio::use_awaitable);
  }
  co_return checksums.finish();
}

Task<Result<ReceivedBody>> copy_content(ContentReader reader, PayloadWriter& writer, Checksums::Wanted wanted) {
  auto sums = CO_TRY(co_await read_all(std::move(reader), &writer, std::move(wanted)));
  auto payload = CO_TRY(co_await writer.finish());
  co_return ReceivedBody{std::move(payload), std::move(sums.md5), std::move(sums.crc64)};
}

Result<ByteRange> part_of_source(const Call& call, const Blob& source) {
  const auto text = call.header("x-ms-source-range");
  if (text.empty()) return ByteRange{0, source.size};
  const auto range = TRY(parse_range(text, source.size));
  if (!range) return fail(protocol::invalid_header("x-ms-source-range", text));
  return *range;
}

Task<Result<ReceivedBody>> receive_opened(Call& call, const OpenedBlob& opened, ByteRange part, std::uint64_t limit) {
  if (part.length > limit) co_return fail(ErrorCode::kRequestBodyTooLarge);
  auto wanted = CO_TRY(wanted_of_source(call));
  auto writer = call.service.new_payload(call.blob_ref());
  auto written = co_await copy_content(opened.read(part.offset, part.length), writer, std::move(wanted));
  if (!written) co_await call.service.give_up(writer);
  co_return written;
}

}  // namespace

Result<CopySource> read_copy_source(const Call& call, bool with_tags) {
  CopySource source;
  source.url = call.header(kSourceHeader);
  const auto url = split_url(source.url);
  if (!url) return fail(protocol::invalid_header(kSourceHeader, source.url));
  if (!leads_here(call, url->host)) {
    return not_verified("The copy source is not a blob of this store. Copies from elsewhere are not made.");
  }
  http::Request request;
  request.method = "GET";
  request.path = url->path;
  request.query = url->query;
  request.remote_address = call.http.remote_address;
  request.tls = call.http.tls;
  Call read(call.front, request, call.service);
  read.host = url->host;
  TRY(check_allowed(call, read, with_tags));
  if (read.blob.empty()) return fail(protocol::invalid_header(kSourceHeader, source.url));
  source.ref = read.blob_ref();
  source.conditions = TRY(read_source_conditions(call));
  return source;
}

Task<Result<void>> check_source_md5(const Call& call, CopySource& source, std::string_view header) {
  const Checksums::Wanted wanted{{call.header(header), {}}, true, false};
  if (wanted.declared.md5.empty()) co_return Result<void>{};
  CO_TRY(check_declared_sums(wanted.declared, {}));
  const auto opened = CO_TRY(co_await open_source(call, source));
  CO_TRY(co_await read_all(opened.read(0, opened.blob.size), nullptr, wanted));
  source.conditions.if_match = {opened.blob.version.etag()};
  co_return Result<void>{};
}

Task<Result<ReceivedBody>> receive_part(Call& call, std::uint64_t limit) {
  if (!names_source(call)) {
    co_return co_await receive_body(call, limit, call.header("Content-MD5"), Hashes::kOfTransfer);
  }
  if (const auto length = call.http.body->content_length().value_or(0); length > 0) {
    co_return fail(protocol::invalid_header("Content-Length", std::to_string(length),
                                            "With a copy source, the request has no body."));
  }
  const auto source = CO_TRY(read_copy_source(call));
  const auto opened = CO_TRY(co_await open_source(call, source));
  const auto part = CO_TRY(part_of_source(call, opened.blob));
  co_return co_await receive_opened(call, opened, part, limit);
}

Task<Result<ReceivedSource>> receive_source(Call& call, const CopySource& source, std::uint64_t limit) {
  auto opened = CO_TRY(co_await open_source(call, source));
  auto body = CO_TRY(co_await receive_opened(call, opened, {0, opened.blob.size}, limit));
  co_return ReceivedSource{std::move(opened.blob), std::move(body)};
}

Task<Result<ReceivedBody>> receive_block(Call& call, std::uint64_t limit) {
  auto body = CO_TRY(co_await receive_part(call, limit));
  if (body.payload.size > 0) co_return body;
  const std::string_view what = names_source(call) ? kSourceHeader : "Content-Length";
  co_return fail(protocol::invalid_header(what, call.header(what), "A block has at least one byte."));
}

void add_part_hash(http::Response& response, const Call& call, const ReceivedBody& part) {
  if (!names_source(call)) return add_transfer_hash(response, call, part.md5, part.crc64);
  if (part.md5.empty()) {
    response.set("x-ms-content-crc64", part.crc64);
  } else {
    response.set("Content-MD5", part.md5);
  }
}

}  // namespace tidemark::blob_store
