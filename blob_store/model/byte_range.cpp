#include "blob_store/model/byte_range.h"

#include <algorithm>
#include <limits>

#include "common/base/numbers.h"

namespace tidemark::blob_store {
namespace {

/// Returns the largest number for one that is too large.
std::optional<std::uint64_t> parse_place(std::string_view text) {
  const auto number = parse_number<std::uint64_t>(text);
  const bool too_large = !number && !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  return too_large ? std::numeric_limits<std::uint64_t>::max() : number;
}

}  // namespace

Result<std::optional<ByteRange>> parse_range(std::string_view header, std::uint64_t size) {
  std::optional<ByteRange> none;
  if (!header.starts_with("bytes=")) return none;
  header.remove_prefix(6);
  const auto dash = header.find('-');
  if (dash == std::string_view::npos) return none;
  const auto first = parse_place(header.substr(0, dash));
  const auto tail = header.substr(dash + 1);
  const auto last = parse_place(tail);
  if (!first || (!tail.empty() && !last) || (last && *last < *first)) return none;
  if (*first >= size) return fail(ErrorCode::kInvalidRange);
  const auto end = last ? std::min(*last, size - 1) : size - 1;
  return std::optional<ByteRange>(ByteRange{*first, end - *first + 1});
}

}  // namespace tidemark::blob_store
