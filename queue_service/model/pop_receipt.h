// The pop receipt is the place of a message in its queue, so it is valid exactly as long as the message stays there.
// Text: base64 of visible-at u64 big-endian, sequence u64 big-endian; for a message in a part of a spread queue, four
// more bytes that name the part (queue_parts.h). No I/O.
#pragma once
#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/time.h"

namespace tidemark::queue_service {

struct Place {
  Time visible_at;
  std::uint64_t sequence = 0;
  auto operator<=>(const Place&) const = default;
};

inline constexpr std::size_t kPlaceBytes = 16, kPartBytes = 4;

/// Returns 16 bytes whose byte order is the order of places.
std::string place_bytes(const Place& place);
std::optional<Place> place_from_bytes(std::string_view bytes);
std::string to_receipt(const Place& place);
/// Returns the bytes of a receipt, with or without a part. A space stands for a '+' that a client forgot to escape.
std::optional<std::string> receipt_bytes(std::string_view receipt);
/// Returns the place alone.
std::optional<Place> from_receipt(std::string_view receipt);

}  // namespace tidemark::queue_service
