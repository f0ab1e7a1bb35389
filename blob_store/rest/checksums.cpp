#include "blob_store/rest/checksums.h"

#include "blob_store/rest/crc64.h"
#include "common/base/encoding.h"
#include "common/protocol/protocol_errors.h"

namespace tidemark::blob_store {
namespace {

Error mismatch(ErrorCode code, const std::string& kind, const std::string& declared, const std::string& computed) {
  auto error = make_error(code);
  error.fields = {{"UserSpecified" + kind, declared}, {"ServerCalculated" + kind, computed}};
  return error;
}

/// Returns true if the sum is base64 of this many bytes, or empty.
bool has_length(const std::string& sum, std::size_t bytes) {
  const auto raw = base64_decode(sum);
  return sum.empty() || (raw && raw->size() == bytes);
}

}  // namespace

Result<void> check_declared_sums(const Sums& declared, std::string_view crc64_header) {
  if (!has_length(declared.md5, 16)) return fail(ErrorCode::kInvalidMd5);
  if (!has_length(declared.crc64, 8)) return fail(protocol::invalid_header(crc64_header, declared.crc64));
  const bool both = !declared.md5.empty() && !declared.crc64.empty();
  return both ? fail(ErrorCode::kBothCrc64AndMd5HeaderPresent) : Result<void>();
}

Checksums::Checksums(Wanted wanted) : wanted_(std::move(wanted)) {
  // This call cannot fail with the default OpenSSL provider.
  EVP_DigestInit_ex(md5_.get(), EVP_md5(), nullptr);
}

void Checksums::update(std::string_view bytes) {
  if (wanted_.md5 && known_md5_.empty()) EVP_DigestUpdate(md5_.get(), bytes.data(), bytes.size());
  if (wanted_.crc64) crc64_ = crc64(bytes, crc64_);
}

Result<Sums> Checksums::finish() {
  Sums sums;
  if (wanted_.md5) {
    auto digest = std::move(known_md5_);
    if (digest.empty()) {
      digest.resize(16);
      EVP_DigestFinal_ex(md5_.get(), reinterpret_cast<unsigned char*>(digest.data()), nullptr);
    }
    sums.md5 = base64_encode(digest);
  }
  if (wanted_.crc64) sums.crc64 = crc64_text(crc64_);
  const auto& declared = wanted_.declared;
  if (!declared.md5.empty() && declared.md5 != sums.md5) {
    return fail(mismatch(ErrorCode::kMd5Mismatch, "Md5", declared.md5, sums.md5));
  }
  if (!declared.crc64.empty() && declared.crc64 != sums.crc64) {
    return fail(mismatch(ErrorCode::kCrc64Mismatch, "Crc64", declared.crc64, sums.crc64));
  }
  return sums;
}

}  // namespace tidemark::blob_store
