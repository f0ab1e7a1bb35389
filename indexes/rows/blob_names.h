// The names of the blobs that hold pieces of lists:
//   PREFIX VALUE "/" BOUND "-" VERSION      BOUND, VERSION: 16 hex digits
// VALUE is the group's text (group_text.h), which contains no '/' or similar character; its last dot is "%2E", because
// paths lose segments such as "..", and an empty text is "%". Each write of a piece has a version of its own, so a blob
// is never written twice. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark::indexes {

struct PieceBlob {
  std::string group;
  std::uint64_t bound = 0;
  std::uint64_t version = 0;
  bool operator==(const PieceBlob&) const = default;
};
std::string blob_name(std::string_view prefix, const PieceBlob& blob);
/// Returns nothing if blob_name() never gives this name.
std::optional<PieceBlob> parse_blob_name(std::string_view prefix, std::string_view name);

}  // namespace tidemark::indexes
