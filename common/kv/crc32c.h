// CRC-32C (Castagnoli) over what is stored, by ISA-L, which calls it after iSCSI. "123456789" gives 0xE3069283.
#pragma once
#include <isa-l/crc.h>

#include <cstdint>
#include <string_view>

namespace tidemark::kv {

/// `before`: the sum of the bytes that come before these.
/// At most 2 GiB of them at once.
inline std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0) {
  // The library only reads, though its parameter is not const.
  auto* const first = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  return ~crc32_iscsi(first, static_cast<int>(bytes.size()), ~before);
}

}  // namespace tidemark::kv
