// CRC-32C in two ways that must agree with a third, the polynomial bit by bit: ours and RocksDB's.
#include <gtest/gtest.h>

#include <random>

#include "common/kv/crc32c.h"

namespace rocksdb::crc32c {
std::uint32_t Extend(std::uint32_t before, const char* data, std::size_t size);  // not in its public headers
}

namespace tidemark::kv {
namespace {

std::uint32_t bit_by_bit(std::string_view bytes, std::uint32_t before) {
  auto sum = ~before;
  for (const char c : bytes) {
    sum ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0x82F63B78U : 0U);
  }
  return ~sum;
}

std::uint32_t of_rocksdb(std::string_view bytes, std::uint32_t before) {
  return rocksdb::crc32c::Extend(before, bytes.data(), bytes.size());
}

TEST(Checksums, KnownValue) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(of_rocksdb("123456789", 0), 0xE3069283U);
}

TEST(Checksums, AnySizeAtAnyAddressAfterAnything) {
  std::mt19937 random(1);
  std::string bytes(4096, '\0');
  for (auto& c : bytes) c = static_cast<char>(random());
  for (std::size_t size = 0; size < 600; ++size) {
    const auto part = std::string_view(bytes).substr(random() % 64, size * (size % 7 == 0 ? 6 : 1));
    const auto before = static_cast<std::uint32_t>(random());
    const auto expected = bit_by_bit(part, before);
    ASSERT_EQ(crc32c(part, before), expected) << size;
    ASSERT_EQ(of_rocksdb(part, before), expected) << size;
  }
}

}  // namespace
}  // namespace tidemark::kv
