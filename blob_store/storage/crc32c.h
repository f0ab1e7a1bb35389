// CRC-32C (Castagnoli) over stored chunks; slicing by eight. "123456789" gives 0xE3069283.
#pragma once
#include <cstdint>
#include <string_view>

namespace tidemark::blob_store {

std::uint32_t crc32c(std::string_view bytes);

}  // namespace tidemark::blob_store
