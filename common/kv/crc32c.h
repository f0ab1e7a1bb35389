// CRC-32C (Castagnoli) of stored bytes, by ISA-L, which calls it after iSCSI. "123456789" gives 0xE3069283.
#pragma once
#include <isa-l/crc.h>

#include <cstdint>
#include <string_view>

namespace tidemark::kv {

/// Adds at most 2 GiB at once. `before`: the sum of the bytes in front of these.
inline std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0) {
  // The library only reads, though its parameter is not const.
  auto* const first = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  return ~crc32_iscsi(first, static_cast<int>(bytes.size()), ~before);
}

}  // namespace tidemark::kv
