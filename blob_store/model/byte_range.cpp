#include "blob_store/model/byte_range.h"

#include <algorithm>

#include "common/base/numbers.h"

namespace tidemark::blob_store {

Result<std::optional<ByteRange>> parse_range(std::string_view header, std::uint64_t size) {
  std::optional<ByteRange> none;
  if (!header.starts_with("bytes=")) return none;
  header.remove_prefix(6);
  const auto dash = header.find('-');
  if (dash == std::string_view::npos) return none;
  const auto first = parse_number<std::uint64_t>(header.substr(0, dash));
  const auto tail = header.substr(dash + 1);
  const auto last = parse_number<std::uint64_t>(tail);
  if (!first || (!tail.empty() && !last) || (last && *last < *first)) return none;
  if (*first >= size) return fail(ErrorCode::kInvalidRange);
  const auto end = last ? std::min(*last, size - 1) : size - 1;
  return std::optional<ByteRange>(ByteRange{*first, end - *first + 1});
}

}  // namespace tidemark::blob_store
