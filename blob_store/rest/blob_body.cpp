#include "blob_store/rest/blob_body.h"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "blob_store/rest/checksums.h"
#include "blob_store/rest/md5_round.h"

namespace tidemark::blob_store {
namespace {

constexpr std::size_t kReadBytes = 2 * kChunkBytes;
constexpr std::size_t kSummedTogether = 16UL << 10;  // from this size on it is worth waiting for others

/// Earlier versions answer with MD5 alone.
constexpr std::string_view kFirstWithCrc64 = "2019-02-02";

/// `md5`: the expected MD5 of the content, which may come from another header than that of the transfer.
Result<Checksums::Wanted> wanted_sums(const Call& call, std::string md5, Hashes hashes) {
  constexpr std::string_view kCrc64 = "x-ms-content-crc64";
  const auto crc64 = call.header(kCrc64);
  TRY(check_declared_sums({call.header("Content-MD5"), crc64}, kCrc64));
  TRY(check_declared_sums({md5, {}}, kCrc64));
  Checksums::Wanted wanted{{std::move(md5), crc64}};
  if (hashes == Hashes::kOfTransfer) {
    wanted.md5 = speaks_before(call, kFirstWithCrc64) || !wanted.declared.md5.empty();
    wanted.crc64 = !wanted.md5 || !crc64.empty();
  }
  return wanted;
}

Result<void> check_length(const Call& call, std::uint64_t limit) {
  const auto length = call.http.body->content_length();
  if (!length && !call.http.header("Transfer-Encoding")) return fail(ErrorCode::kMissingContentLengthHeader);
  return length.value_or(0) > limit ? fail(ErrorCode::kRequestBodyTooLarge) : Result<void>();
}

/// Reads the body piece by piece and updates the checksums.
class Pieces {
 public:
  Pieces(http::BodyReader& body, std::uint64_t limit, Checksums::Wanted wanted)
      : body_(body), limit_(limit), checksums_(std::move(wanted)) {}

  /// Returns an empty piece at the end.
  Task<Result<std::string>> next() {
    auto piece = CO_TRY(co_await body_.read_some(kReadBytes));
    if (body_.bytes_read() > limit_) co_return fail(ErrorCode::kRequestBodyTooLarge);
    if (is_summed_together(piece)) checksums_.know_md5(co_await md5_with_others(piece));
    checksums_.update(piece);
    co_return piece;
  }
  /// Tells whether it is certain, without another read, that nothing is left.
  [[nodiscard]] bool all_read() const { return body_.content_length() == body_.bytes_read(); }
  /// Call it at the end.
  Result<Sums> sums() {
    if (body_.content_length() && !all_read()) return fail(ErrorCode::kInvalidInput);
    return checksums_.finish();
  }

 private:
  /// Tells whether the piece is a complete body of middle size.
  [[nodiscard]] bool is_summed_together(const std::string& piece) const {
    return checksums_.wanted().md5 && piece.size() >= kSummedTogether && piece.size() <= kChunkBytes &&
           piece.size() == body_.content_length();
  }
  http::BodyReader& body_;
  std::uint64_t limit_;
  Checksums checksums_;
};

/// Receives the next piece while the disk writes the one before.
Task<Result<ReceivedBody>> stream_body(Pieces pieces, PayloadWriter& writer) {
  using namespace asio::experimental::awaitable_operators;
  auto piece = CO_TRY(co_await pieces.next());
  while (!piece.empty() && !pieces.all_read()) {
    auto [next, written] = co_await (pieces.next() && writer.append(std::move(piece)));
    CO_TRY(std::move(written));
    piece = CO_TRY(std::move(next));
  }
  if (!piece.empty()) CO_TRY(co_await writer.append(std::move(piece)));
  auto sums = CO_TRY(pieces.sums());
  auto payload = CO_TRY(co_await writer.finish());
  co_return ReceivedBody{std::move(payload), std::move(sums.md5), std::move(sums.crc64)};
}

}  // namespace

bool names_source(const Call& call) { return !call.header(kSourceHeader).empty(); }

Result<void> check_put(const Call& call, const Metadata& metadata) {
  const auto length = call.http.body->content_length();
  const bool little = length && *length <= kChunkBytes && !names_source(call);
  return call.service.check_put(call.blob_ref(), metadata, little);
}

Task<Result<ReceivedBody>> receive_body(Call& call, std::uint64_t limit, std::string expected_md5, Hashes hashes) {
  CO_TRY(check_length(call, limit));
  auto wanted = CO_TRY(wanted_sums(call, std::move(expected_md5), hashes));
  auto writer = call.service.new_payload(call.blob_ref());
  auto received = co_await stream_body({*call.http.body, limit, std::move(wanted)}, writer);
  if (!received) co_await call.service.give_up(writer);
  co_return received;
}

Task<Result<std::string>> receive_text(Call& call, std::size_t limit) {
  auto text = CO_TRY(co_await call.http.body->read_all(limit));
  auto wanted = CO_TRY(wanted_sums(call, call.header("Content-MD5"), Hashes::kOfTransfer));
  Checksums checksums(std::move(wanted));
  checksums.update(text);
  CO_TRY(checksums.finish());
  co_return text;
}

void add_transfer_hash(http::Response& response, const Call& call, const std::string& md5, const std::string& crc64) {
  const bool with_md5 = !call.header("Content-MD5").empty() || speaks_before(call, kFirstWithCrc64);
  if (with_md5) {
    response.set("Content-MD5", md5);
  } else {
    response.set("x-ms-content-crc64", crc64);
  }
}

}  // namespace tidemark::blob_store
