#include "common/auth/query.h"

#include "common/base/encoding.h"

namespace tidemark::auth {
namespace {
constexpr std::size_t kMaxParameters = 100;
}

std::optional<std::vector<QueryParameter>> decode_query(std::string_view raw) {
  std::vector<QueryParameter> out;
  if (raw.empty()) return out;
  out.reserve(12);
  while (!raw.empty()) {
    const auto end = std::min(raw.find('&'), raw.size());
    const auto piece = raw.substr(0, end);
    raw.remove_prefix(std::min(end + 1, raw.size()));
    if (piece.empty()) continue;
    if (out.size() == kMaxParameters) return std::nullopt;
    const auto equals = std::min(piece.find('='), piece.size());
    auto name = percent_decode(piece.substr(0, equals), true);
    if (!name) return std::nullopt;
    // Base64 has no spaces, so a plus in a signature is a plus that somebody forgot to escape.
    auto value = percent_decode(piece.substr(std::min(equals + 1, piece.size())), *name != "sig");
    if (!value) return std::nullopt;
    out.push_back({std::move(*name), std::move(*value)});
  }
  return out;
}

}  // namespace tidemark::auth
