// Computes the MD5 and the CRC-64 of content that comes in pieces, and compares them with the declared ones. All sums
// are base64, as in headers; a missing sum is empty. Errors: kInvalidMd5, kMd5Mismatch, kCrc64Mismatch,
// kInvalidHeaderValue, kBothCrc64AndMd5HeaderPresent.
#pragma once
#include <openssl/evp.h>

#include <memory>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace tidemark::blob_store {

struct Sums {
  std::string md5, crc64;
};

/// Checks that at most one of the two is declared, and that its length is right.
Result<void> check_declared_sums(const Sums& declared, std::string_view crc64_header);

class Checksums {
 public:
  struct Wanted {
    Sums declared;
    bool md5 = true, crc64 = true;  // the sums to compute
  };
  explicit Checksums(Wanted wanted);
  void update(std::string_view bytes);
  /// Gives the MD5 of the whole content before any of it comes: `raw` has 16 bytes.
  void know_md5(std::string raw) { known_md5_ = std::move(raw); }
  [[nodiscard]] const Wanted& wanted() const { return wanted_; }
  /// Call it once.
  Result<Sums> finish();

 private:
  Wanted wanted_;
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> md5_{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
  std::string known_md5_;
  std::uint64_t crc64_ = 0;
};

}  // namespace tidemark::blob_store
