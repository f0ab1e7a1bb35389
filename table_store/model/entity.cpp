#include "table_store/model/entity.h"

#include <algorithm>
#include <bit>

#include "common/base/encoding.h"
#include "table_store/model/entity_view.h"

namespace tidemark::table_store {

std::optional<Guid> parse_guid(std::string_view text) {
  if (text.size() != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-') return std::nullopt;
  std::string digits(text);
  std::erase(digits, '-');
  const auto bytes = hex_decode(digits);
  if (!bytes || bytes->size() != 16) return std::nullopt;
  Guid guid;
  std::copy(bytes->begin(), bytes->end(), guid.bytes.begin());
  return guid;
}

std::string guid_text(const Guid& guid) {
  auto text = hex_encode(std::string_view(reinterpret_cast<const char*>(guid.bytes.data()), guid.bytes.size()));
  for (const std::size_t place : {8UL, 13UL, 18UL, 23UL}) text.insert(place, 1, '-');
  return text;
}

bool same_value(const Value& a, const Value& b) {
  const auto* one = std::get_if<double>(&a);
  const auto* other = std::get_if<double>(&b);
  if (one == nullptr || other == nullptr) return a == b;
  return std::bit_cast<std::uint64_t>(*one) == std::bit_cast<std::uint64_t>(*other);
}

std::size_t properties_bytes(std::span<const Property> properties) {
  std::size_t bytes = 0;
  for (const auto& property : properties) {
    bytes += property.name.size() + 16;
    if (const auto* text = std::get_if<std::string>(&property.value)) bytes += text->size();
    if (const auto* binary = std::get_if<Binary>(&property.value)) bytes += binary->bytes.size();
  }
  return bytes;
}

const Value* Entity::find(std::string_view name) const {
  for (const auto& property : properties) {
    if (property.name == name) return &property.value;
  }
  return nullptr;
}

Entity EntityView::to_entity(const Selection& selection) const {
  Entity out;
  out.partition_key = partition_key;
  out.row_key = row_key;
  out.version = version;
  out.source_version = source_version;
  out.operation = operation;
  out.restored = restored;
  if (origin) {
    out.origin =
        Origin{std::string(origin->follower), std::string(origin->partition_key), std::string(origin->row_key)};
  }
  auto reader = properties();
  out.properties.reserve(selection ? std::min<std::size_t>(selection->size(), reader.left()) : reader.left());
  while (reader.next()) {
    if (selection && !std::ranges::binary_search(*selection, reader.name())) continue;
    out.properties.push_back({std::string(reader.name()), value_of(reader.value())});
  }
  return out;
}

}  // namespace tidemark::table_store
