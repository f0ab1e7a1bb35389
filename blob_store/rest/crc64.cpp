#include "blob_store/rest/crc64.h"

#include <array>
#include <bit>
#include <cstring>

#include "common/base/encoding.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace tidemark::blob_store {
namespace {

static_assert(std::endian::native == std::endian::little);

// Sums and polynomials are reflected, as the bytes are: the lowest bit is the highest power of x.
constexpr std::uint64_t kPolynomial = 0x9A6C9329AC4BC9B5;
constexpr std::size_t kSlices = 16;  // the bytes that one step takes
using Tables = std::array<std::array<std::uint64_t, 256>, kSlices>;

constexpr std::uint64_t times_x(std::uint64_t sum) { return (sum >> 1) ^ ((sum & 1) != 0 ? kPolynomial : 0); }

// tables[n][b]: the value that byte b adds to the sum if n more bytes follow it.
Tables make_tables() {
  Tables tables{};
  for (std::uint64_t byte = 0; byte < 256; ++byte) {
    auto sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = times_x(sum);
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

/// Takes and returns sums that are not inverted.
std::uint64_t sum_by_tables(std::string_view bytes, std::uint64_t sum) {
  static const Tables tables = make_tables();
  for (; bytes.size() >= kSlices; bytes.remove_prefix(kSlices)) {
    const auto low = word_at(bytes, 0) ^ sum;
    const auto high = word_at(bytes, 8);
    sum = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      sum ^= tables[15 - i][(low >> (8 * i)) & 0xFF] ^ tables[7 - i][(high >> (8 * i)) & 0xFF];
    }
  }
  for (const char c : bytes) sum = (sum >> 8) ^ tables[0][(sum ^ static_cast<unsigned char>(c)) & 0xFF];
  return sum;
}

#ifdef __x86_64__
constexpr std::size_t kLaneBytes = sizeof(__m128i);
constexpr std::size_t kCrcLanes = 8;  // the number of multiplications that a core makes at once
constexpr std::size_t kFoldFrom = 2 * kCrcLanes * kLaneBytes;

constexpr std::uint64_t power_of_x(std::size_t exponent) {
  std::uint64_t sum = std::uint64_t{1} << 63;
  for (std::size_t i = 0; i < exponent; ++i) sum = times_x(sum);
  return sum;
}

/// Replaces 16 bytes by 16 others that add the same to the sum from `Bytes` further on: each half is multiplied by x to
/// the power of its distance from there. The product of two reflected numbers comes out one place too far.
template <std::size_t Bytes>
__attribute__((target("pclmul,sse4.1"))) __m128i moved_on(__m128i lane) {
  constexpr auto kLow = static_cast<long long>(power_of_x(8 * Bytes + 64 - 1));
  constexpr auto kHigh = static_cast<long long>(power_of_x(8 * Bytes - 1));
  const auto factors = _mm_set_epi64x(kHigh, kLow);
  return _mm_xor_si128(_mm_clmulepi64_si128(lane, factors, 0x00), _mm_clmulepi64_si128(lane, factors, 0x11));
}

__attribute__((target("pclmul,sse4.1"))) std::uint64_t folded(std::string_view bytes, std::uint64_t sum) {
  const auto lane_at = [&bytes](std::size_t lane) __attribute__((target("pclmul,sse4.1"))) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes.data()) + lane);
  };
  std::array<__m128i, kCrcLanes> lanes;
  for (std::size_t i = 0; i < kCrcLanes; ++i) lanes[i] = lane_at(i);
  lanes[0] = _mm_xor_si128(lanes[0], _mm_set_epi64x(0, static_cast<long long>(sum)));
  bytes.remove_prefix(kCrcLanes * kLaneBytes);
  for (; bytes.size() >= kCrcLanes * kLaneBytes; bytes.remove_prefix(kCrcLanes * kLaneBytes)) {
    for (std::size_t i = 0; i < kCrcLanes; ++i) {
      lanes[i] = _mm_xor_si128(moved_on<kCrcLanes * kLaneBytes>(lanes[i]), lane_at(i));
    }
  }
  auto all = lanes[0];
  for (std::size_t i = 1; i < kCrcLanes; ++i) all = _mm_xor_si128(moved_on<kLaneBytes>(all), lanes[i]);
  std::array<char, kLaneBytes> rest{};
  _mm_storeu_si128(reinterpret_cast<__m128i*>(rest.data()), all);
  return sum_by_tables(bytes, sum_by_tables({rest.data(), rest.size()}, 0));
}

/// Does the same as sum_by_tables, many times as fast.
std::uint64_t sum_of(std::string_view bytes, std::uint64_t sum) {
  static const bool can_fold = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  return can_fold && bytes.size() >= kFoldFrom ? folded(bytes, sum) : sum_by_tables(bytes, sum);
}
#else
std::uint64_t sum_of(std::string_view bytes, std::uint64_t sum) { return sum_by_tables(bytes, sum); }
#endif

}  // namespace

std::uint64_t crc64(std::string_view bytes, std::uint64_t before) { return ~sum_of(bytes, ~before); }

std::string crc64_text(std::uint64_t sum) {
  std::string bytes(sizeof sum, '\0');
  std::memcpy(bytes.data(), &sum, sizeof sum);
  return base64_encode(bytes);
}

}  // namespace tidemark::blob_store
