// CRC-64/NVME, the algorithm of the protocol's x-ms-content-crc64. Pure.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tidemark::blob_store {

/// `before`: the sum of the preceding bytes.
std::uint64_t crc64(std::string_view bytes, std::uint64_t before = 0);
/// Returns the sum as in the header: base64 of its eight bytes, the lowest first.
std::string crc64_text(std::uint64_t sum);

}  // namespace tidemark::blob_store
