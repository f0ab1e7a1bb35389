#include "blob_store/model/byte_range.h"

#include <algorithm>
#include <charconv>

namespace tidemark::blob_store {
namespace {

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Result<std::optional<ByteRange>> parse_range(std::string_view header, std::uint64_t size) {
  std::optional<ByteRange> none;
  if (!header.starts_with("bytes=")) return none;
  header.remove_prefix(6);
  const auto dash = header.find('-');
  if (dash == std::string_view::npos) return none;
  const auto first = parse_number(header.substr(0, dash));
  const auto tail = header.substr(dash + 1);
  const auto last = parse_number(tail);
  if (!first || (!tail.empty() && !last) || (last && *last < *first)) return none;
  if (*first >= size) return fail(ErrorCode::kInvalidRange);
  const auto end = last ? std::min(*last, size - 1) : size - 1;
  return std::optional<ByteRange>(ByteRange{*first, end - *first + 1});
}

}  // namespace tidemark::blob_store
