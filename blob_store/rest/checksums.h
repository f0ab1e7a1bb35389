// MD5 and CRC-64 of content that comes in pieces, against what a request declares. All sums are base64, as in headers,
// and empty if there is none. Errors: kInvalidMd5, kMd5Mismatch, kCrc64Mismatch, kInvalidHeaderValue,
// kBothCrc64AndMd5HeaderPresent.
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

/// One of the two at most, each of its right length.
Result<void> check_declared_sums(const Sums& declared, std::string_view crc64_header);

class Checksums {
 public:
  struct Wanted {
    Sums declared;
    bool md5 = true, crc64 = true;  // what is computed
  };
  explicit Checksums(Wanted wanted);
  void update(std::string_view bytes);
  /// Says what the MD5 of all the content is, before any of it comes: `raw` has 16 bytes.
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
