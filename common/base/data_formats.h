// The format in which each store keeps its data (docs/recover.md, Formats): the only format that this version reads.
#pragma once
#include <cstdint>
#include <string_view>

namespace tidemark {

/// 0 for a store that this version does not have.
constexpr std::uint32_t data_format_of(std::string_view store) {
  if (store == "table") return 1;
  if (store == "queue" || store == "blob") return 2;
  return 0;
}

}  // namespace tidemark
