#include "blob_store/rest/crc64.h"

#include <array>
#include <bit>
#include <cstring>

#include "common/base/encoding.h"

namespace tidemark::blob_store {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint64_t kPolynomial = 0x9A6C9329AC4BC9B5;  // reflected
constexpr std::size_t kSlices = 16;                        // bytes that one step takes
using Tables = std::array<std::array<std::uint64_t, 256>, kSlices>;

// tables[n][b]: what byte b adds to the sum if n more bytes follow it.
Tables make_tables() {
  Tables tables{};
  for (std::uint64_t byte = 0; byte < 256; ++byte) {
    auto sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = sum;
  }
  for (std::size_t slice = 1; slice < kSlices; ++slice) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const auto sum = tables[slice - 1][byte];
      tables[slice][byte] = (sum >> 8) ^ tables[0][sum & 0xFF];
    }
  }
  return tables;
}

std::uint64_t word_at(std::string_view bytes, std::size_t at) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

}  // namespace

std::uint64_t crc64(std::string_view bytes, std::uint64_t before) {
  static const Tables tables = make_tables();
  auto sum = ~before;
  for (; bytes.size() >= kSlices; bytes.remove_prefix(kSlices)) {
    const auto low = word_at(bytes, 0) ^ sum;
    const auto high = word_at(bytes, 8);
    sum = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      sum ^= tables[15 - i][(low >> (8 * i)) & 0xFF] ^ tables[7 - i][(high >> (8 * i)) & 0xFF];
    }
  }
  for (const char c : bytes) sum = (sum >> 8) ^ tables[0][(sum ^ static_cast<unsigned char>(c)) & 0xFF];
  return ~sum;
}

std::string crc64_text(std::uint64_t sum) {
  std::string bytes(sizeof sum, '\0');
  std::memcpy(bytes.data(), &sum, sizeof sum);
  return base64_encode(bytes);
}

}  // namespace tidemark::blob_store
