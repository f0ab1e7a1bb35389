#include "feeds/tokens/token.h"

#include <algorithm>

#include "common/base/bytes.h"
#include "common/base/encoding.h"

namespace tidemark::feeds {
namespace {

using table_store::FeedPlace;
using table_store::FeedStart;

constexpr std::uint8_t kFormat = 1;
constexpr std::size_t kMaxTokenBytes = 100;
constexpr std::size_t kCheckBytes = 8;

// Not a secret: it tells a token from what was cut short, or is another table's.
std::string check_of(std::string_view table, std::string_view bytes) {
  std::uint64_t sum = 0xcbf29ce484222325;  // FNV-1a
  const auto add = [&sum](char c) { sum = (sum ^ static_cast<std::uint8_t>(c)) * 0x100000001b3; };
  std::ranges::for_each(bytes, add);
  std::ranges::for_each(to_lower_ascii(table), add);
  std::string out;
  ByteWriter(out).u64(sum);
  return out;
}

}  // namespace

std::string token_of(std::string_view table, const FeedPlace& place) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(kFormat);
  out.varint(place.generation);
  out.i64(place.version);
  out.varint(place.index);
  bytes += check_of(table, bytes);
  auto text = base64_encode(bytes);
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  text.erase(text.find_last_not_of('=') + 1);
  return text;
}

Result<FeedPlace> parse_token(std::string_view table, std::string_view token) {
  const auto refused = [] {
    return fail(ErrorCode::kInvalidInput,
                "This is no token of the table's change feed. A token comes from the feed itself.");
  };
  if (token.empty() || token.size() > kMaxTokenBytes) return refused();
  std::string text(token);
  std::ranges::replace(text, '-', '+');
  std::ranges::replace(text, '_', '/');
  text.append((4 - text.size() % 4) % 4, '=');
  const auto bytes = base64_decode(text);
  if (!bytes || bytes->size() <= kCheckBytes) return refused();
  const auto fields = std::string_view(*bytes).substr(0, bytes->size() - kCheckBytes);
  ByteReader in(fields);
  const auto format = in.u8();
  FeedPlace place;
  place.generation = in.varint();
  place.version = in.i64();
  const auto index = in.varint();
  place.index = static_cast<std::uint32_t>(index);
  const bool whole = in.finished() && format == kFormat && std::in_range<std::uint32_t>(index);
  if (!whole || place.version < 0 || token_of(table, place) != token) return refused();
  return place;
}

Result<table_store::FeedRequest> parse_start(std::string_view table, std::string_view text) {
  table_store::FeedRequest request;
  if (text == "oldest" || text == "begin") {
    request.start = FeedStart::kOldest;
  } else if (text == "now") {
    request.start = FeedStart::kNow;
  } else {
    request.place = TRY(parse_token(table, text));
  }
  return request;
}

}  // namespace tidemark::feeds
