#include "queue_service/model/pop_receipt.h"

#include <algorithm>

#include "common/base/encoding.h"

namespace tidemark::queue_service {
namespace {

void append_big_endian(std::string& out, std::uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<char>((value >> shift) & 0xFF));
}

std::uint64_t read_big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

}  // namespace

std::string place_bytes(const Place& place) {
  std::string out;
  out.reserve(16);
  const auto ticks = std::max<std::int64_t>(place.visible_at.time_since_epoch().count(), 0);
  append_big_endian(out, static_cast<std::uint64_t>(ticks));
  append_big_endian(out, place.sequence);
  return out;
}

std::optional<Place> place_from_bytes(std::string_view bytes) {
  if (bytes.size() != 16) return std::nullopt;
  const auto ticks = read_big_endian(bytes.substr(0, 8));
  if (ticks > INT64_MAX) return std::nullopt;
  return Place{Time(Ticks(static_cast<std::int64_t>(ticks))), read_big_endian(bytes.substr(8))};
}

std::string to_receipt(const Place& place) { return base64_encode(place_bytes(place)); }

std::optional<std::string> receipt_bytes(std::string_view receipt) {
  if (receipt.size() != 24 && receipt.size() != 28) return std::nullopt;
  std::string text(receipt);
  std::replace(text.begin(), text.end(), ' ', '+');
  auto bytes = base64_decode(text);
  if (bytes && bytes->size() != kPlaceBytes && bytes->size() != kPlaceBytes + kPartBytes) bytes.reset();
  return bytes;
}

std::optional<Place> from_receipt(std::string_view receipt) {
  const auto bytes = receipt_bytes(receipt);
  return bytes ? place_from_bytes(std::string_view(*bytes).substr(0, kPlaceBytes)) : std::nullopt;
}

}  // namespace tidemark::queue_service
