// The pop receipt is the place of a message in its queue, so it is valid exactly as long as the message stays there.
// Text: base64 of visible-at u64 big-endian, sequence u64 big-endian. No I/O.
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

/// 16 bytes whose byte order is the order of places.
std::string place_bytes(const Place& place);
std::optional<Place> place_from_bytes(std::string_view bytes);
std::string to_receipt(const Place& place);
/// A space stands for a '+' that a client forgot to escape.
std::optional<Place> from_receipt(std::string_view receipt);

}  // namespace tidemark::queue_service
