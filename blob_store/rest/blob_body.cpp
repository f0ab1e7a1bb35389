// Request bodies: streamed content, and small XML documents.
#include <openssl/evp.h>

#include "blob_store/rest/blob_operations.h"
#include "blob_store/rest/crc64.h"
#include "common/base/encoding.h"
#include "common/protocol/protocol_errors.h"

namespace tidemark::blob_store {
namespace {

constexpr std::size_t kReadBytes = 256UL << 10;

/// The MD5 of a stream. Cannot fail with the default OpenSSL provider.
class Md5 {
 public:
  Md5() { EVP_DigestInit_ex(context_.get(), EVP_md5(), nullptr); }
  void update(std::string_view bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }
  /// Call it once.
  std::string finish() {
    std::string out(16, '\0');
    EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(out.data()), nullptr);
    return out;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
};

Result<void> check_md5(const std::string& expected, const std::string& computed) {
  if (expected.empty() || expected == computed) return {};
  auto error = make_error(ErrorCode::kMd5Mismatch);
  error.fields = {{"UserSpecifiedMd5", expected}, {"ServerCalculatedMd5", computed}};
  return fail(std::move(error));
}

/// x-ms-content-crc64; empty if there is none.
Result<std::string> declared_crc64(const Call& call) {
  auto text = call.header("x-ms-content-crc64");
  if (text.empty()) return text;
  if (!call.header("Content-MD5").empty()) return fail(ErrorCode::kBothCrc64AndMd5HeaderPresent);
  const auto raw = base64_decode(text);
  if (!raw || raw->size() != 8) return fail(protocol::invalid_header("x-ms-content-crc64", text));
  return text;
}

Result<void> check_crc64(const std::string& expected, const std::string& computed) {
  if (expected.empty() || expected == computed) return {};
  auto error = make_error(ErrorCode::kCrc64Mismatch);
  error.fields = {{"UserSpecifiedCrc64", expected}, {"ServerCalculatedCrc64", computed}};
  return fail(std::move(error));
}

/// Versions before it answer with MD5 alone.
constexpr std::string_view kFirstWithCrc64 = "2019-02-02";

struct Expected {
  std::string md5, crc64;  // base64; empty if there is none
  bool want_md5 = true, want_crc64 = true;
};

Result<Expected> expect(const Call& call, std::string md5, Hashes hashes) {
  Expected expected{std::move(md5), TRY(declared_crc64(call))};
  if (hashes == Hashes::kOfTransfer) {
    const bool old = speaks_before(call, kFirstWithCrc64);
    expected.want_md5 = old || !expected.md5.empty();
    expected.want_crc64 = !expected.want_md5 || !expected.crc64.empty();
  }
  return expected;
}

Result<void> check_declared(const Call& call, std::uint64_t limit, const std::string& expected_md5) {
  const auto length = call.http.body->content_length();
  if (!length && !call.http.header("Transfer-Encoding")) return fail(ErrorCode::kMissingContentLengthHeader);
  if (length.value_or(0) > limit) return fail(ErrorCode::kRequestBodyTooLarge);
  if (expected_md5.empty()) return {};
  const auto raw = base64_decode(expected_md5);
  if (!raw || raw->size() != 16) return fail(ErrorCode::kInvalidMd5);
  return {};
}

Task<Result<ReceivedBody>> stream_body(Call& call, PayloadWriter& writer, std::uint64_t limit, Expected expected) {
  Md5 digest;
  std::uint64_t sum = 0;
  std::uint64_t size = 0;
  while (true) {
    auto piece = CO_TRY(co_await call.http.body->read_some(kReadBytes));
    if (piece.empty()) break;
    size += piece.size();
    if (size > limit) co_return fail(ErrorCode::kRequestBodyTooLarge);
    if (expected.want_md5) digest.update(piece);
    if (expected.want_crc64) sum = crc64(piece, sum);
    CO_TRY(co_await writer.append(std::move(piece)));
  }
  const auto declared = call.http.body->content_length();
  if (declared && *declared != size) co_return fail(ErrorCode::kInvalidInput);
  ReceivedBody received;
  if (expected.want_md5) received.md5 = base64_encode(digest.finish());
  if (expected.want_crc64) received.crc64 = crc64_text(sum);
  CO_TRY(check_md5(expected.md5, received.md5));
  CO_TRY(check_crc64(expected.crc64, received.crc64));
  received.payload = CO_TRY(co_await writer.finish());
  co_return received;
}

}  // namespace

Task<Result<ReceivedBody>> receive_body(Call& call, std::uint64_t limit, std::string expected_md5, Hashes hashes) {
  CO_TRY(check_declared(call, limit, expected_md5));
  auto expected = CO_TRY(expect(call, std::move(expected_md5), hashes));
  auto writer = call.service.new_payload();
  auto received = co_await stream_body(call, writer, limit, std::move(expected));
  if (!received && writer.id() != 0) co_await call.service.abandon(writer.id());
  co_return received;
}

Task<Result<std::string>> receive_text(Call& call, std::size_t limit) {
  auto text = CO_TRY(co_await call.http.body->read_all(limit));
  const auto expected = CO_TRY(declared_crc64(call));
  CO_TRY(check_crc64(expected, expected.empty() ? expected : crc64_text(crc64(text))));
  const auto expected_md5 = call.header("Content-MD5");
  if (!expected_md5.empty()) CO_TRY(check_md5(expected_md5, base64_encode(md5(text))));
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
