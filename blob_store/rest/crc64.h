// CRC-64/NVME, which the protocol's x-ms-content-crc64 is. Pure.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tidemark::blob_store {

/// `before`: the sum of the bytes that come before these.
std::uint64_t crc64(std::string_view bytes, std::uint64_t before = 0);
/// As in the header: base64 of the sum's eight bytes, the lowest first.
std::string crc64_text(std::uint64_t sum);

}  // namespace tidemark::blob_store
