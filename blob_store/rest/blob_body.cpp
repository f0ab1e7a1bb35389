// Request bodies: streamed content, and small XML documents.
#include <openssl/evp.h>

#include "blob_store/rest/blob_operations.h"
#include "common/base/encoding.h"

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

Result<void> check_declared(const Call& call, std::uint64_t limit, const std::string& expected_md5) {
  const auto length = call.http.body->content_length();
  if (!length && !call.http.header("Transfer-Encoding")) return fail(ErrorCode::kMissingContentLengthHeader);
  if (length.value_or(0) > limit) return fail(ErrorCode::kRequestBodyTooLarge);
  if (expected_md5.empty()) return {};
  const auto raw = base64_decode(expected_md5);
  if (!raw || raw->size() != 16) return fail(ErrorCode::kInvalidMd5);
  return {};
}

Task<Result<ReceivedBody>> stream_body(Call& call, PayloadWriter& writer, std::uint64_t limit,
                                       std::string expected_md5) {
  Md5 digest;
  std::uint64_t size = 0;
  while (true) {
    auto piece = CO_TRY(co_await call.http.body->read_some(kReadBytes));
    if (piece.empty()) break;
    size += piece.size();
    if (size > limit) co_return fail(ErrorCode::kRequestBodyTooLarge);
    digest.update(piece);
    CO_TRY(co_await writer.append(std::move(piece)));
  }
  const auto declared = call.http.body->content_length();
  if (declared && *declared != size) co_return fail(ErrorCode::kInvalidInput);
  auto md5 = base64_encode(digest.finish());
  CO_TRY(check_md5(expected_md5, md5));
  auto payload = CO_TRY(co_await writer.finish());
  co_return ReceivedBody{std::move(payload), std::move(md5)};
}

}  // namespace

Task<Result<ReceivedBody>> receive_body(Call& call, std::uint64_t limit, std::string expected_md5) {
  CO_TRY(check_declared(call, limit, expected_md5));
  auto writer = call.service.new_payload();
  auto received = co_await stream_body(call, writer, limit, std::move(expected_md5));
  if (!received && writer.id() != 0) co_await call.service.abandon(writer.id());
  co_return received;
}

Task<Result<std::string>> receive_text(Call& call, std::size_t limit) {
  auto text = CO_TRY(co_await call.http.body->read_all(limit));
  CO_TRY(check_md5(call.header("Content-MD5"), base64_encode(md5(text))));
  co_return text;
}

}  // namespace tidemark::blob_store
