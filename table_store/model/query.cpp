#include "table_store/model/query.h"

#include "common/base/bytes.h"
#include "common/base/encoding.h"

namespace tidemark::table_store {

std::string text_of(const std::optional<Continuation>& next) {
  if (!next) return {};
  std::string bytes;
  ByteWriter out(bytes);
  out.string(next->partition_key);
  out.string(next->row_key);
  return base64_encode(bytes);
}

Result<std::optional<Continuation>> continuation_in(std::string_view text) {
  if (text.empty()) return std::optional<Continuation>{};
  const auto bytes = base64_decode(text);
  if (!bytes) return fail(ErrorCode::kInvalidInput);
  ByteReader in(*bytes);
  Continuation out;
  out.partition_key = in.string();
  out.row_key = in.string();
  if (!in.finished() || !is_valid_utf8(out.partition_key) || !is_valid_utf8(out.row_key)) {
    return fail(ErrorCode::kInvalidInput);
  }
  return std::optional<Continuation>(std::move(out));
}

// Row keys cannot have control characters, so no row lies between this one and the key with such a character added.
std::string text_behind(const QueryPage& page) {
  if (page.continuation.empty() || page.entities.empty()) return page.continuation;
  const auto& last = page.entities.back();
  return text_of(Continuation{last.partition_key, last.row_key + '\x01'});
}

}  // namespace tidemark::table_store
