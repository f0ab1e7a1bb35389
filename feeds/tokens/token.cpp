#include "feeds/tokens/token.h"

#include <algorithm>

#include "common/base/bytes.h"
#include "common/base/encoding.h"

namespace tidemark::feeds {
namespace {

using table_store::FeedPlace;
using table_store::FeedStart;
using table_store::LogPlace;

constexpr std::uint8_t kOneLog = 1;
constexpr std::uint8_t kSeveralLogs = 2;
constexpr std::size_t kMaxLogs = 64;
constexpr std::size_t kMaxTokenBytes = 2000;
constexpr std::size_t kCheckBytes = 8;

// Not a secret: it detects a token that was cut short or belongs to another table.
std::string check_of(std::string_view table, std::string_view bytes) {
  std::uint64_t sum = 0xcbf29ce484222325;  // FNV-1a
  const auto add = [&sum](char c) { sum = (sum ^ static_cast<std::uint8_t>(c)) * 0x100000001b3; };
  std::ranges::for_each(bytes, add);
  std::ranges::for_each(to_lower_ascii(table), add);
  std::string out;
  ByteWriter(out).u64(sum);
  return out;
}

void write_logs(ByteWriter& out, const std::vector<LogPlace>& logs) {
  const auto newest = std::ranges::max(logs, {}, &LogPlace::version).version;
  out.i64(newest);
  out.varint(logs.size());
  for (const auto& log : logs) {
    out.varint(static_cast<std::uint64_t>(newest - log.version));
    out.varint(log.index);
  }
}

/// Returns false if an index is too high.
bool read_index(ByteReader& in, LogPlace& log) {
  const auto index = in.varint();
  log.index = static_cast<std::uint32_t>(index);
  return std::in_range<std::uint32_t>(index);
}

bool read_logs(ByteReader& in, std::vector<LogPlace>& logs) {
  const auto newest = in.i64();
  const auto count = in.varint();
  if (newest < 0 || count > kMaxLogs) return false;
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    const auto behind = in.varint();
    if (behind > static_cast<std::uint64_t>(newest)) return false;
    auto& log = logs.emplace_back(LogPlace{newest - static_cast<std::int64_t>(behind), 0});
    if (!read_index(in, log)) return false;
  }
  return true;
}

bool read_log(ByteReader& in, std::vector<LogPlace>& logs) {
  auto& log = logs.emplace_back(LogPlace{in.i64(), 0});
  return read_index(in, log) && log.version >= 0;
}

}  // namespace

std::string token_of(std::string_view table, const FeedPlace& place) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(place.logs.size() > 1 ? kSeveralLogs : kOneLog);
  out.varint(place.generation);
  if (place.logs.size() > 1) {
    write_logs(out, place.logs);
  } else {
    out.i64(place.of(0).version);
    out.varint(place.of(0).index);
  }
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
  const bool known = format == kOneLog || format == kSeveralLogs;
  if (!known || !(format == kOneLog ? read_log(in, place.logs) : read_logs(in, place.logs))) return refused();
  if (!in.finished() || token_of(table, place) != token) return refused();
  return place;
}

std::string id_of(std::string_view table, const table_store::FeedPage& page, const table_store::Change& change) {
  auto id = token_of(table, table_store::place_in_feed(page.next.generation, change.version, change.index + 1));
  return page.next.logs.size() > 1 ? id + "." + std::to_string(change.shard) : id;
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
