#include "common/protocol/multipart.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "common/base/text.h"

namespace tidemark::protocol {
namespace {

constexpr std::size_t kMaxHeaders = 64;
constexpr std::size_t kMaxBoundary = 200;
constexpr std::size_t kMaxContentId = 256;

/// Takes a line off the front, without its line end. False at the end of the text.
bool take_line(std::string_view& text, std::string_view& line) {
  if (text.empty()) return false;
  auto end = text.find('\n');
  line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

void trim_one_line_end(std::string_view& text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
}

enum class Mark { kNone, kOpen, kClose };

struct Marks {
  explicit Marks(std::string_view boundary) : open("--" + std::string(boundary)), close(open + "--") {}
  /// Returns the mark that ends a line, and where it begins.
  [[nodiscard]] std::pair<Mark, std::size_t> find_in(std::string_view line) const {
    line = line.substr(0, line.find_last_not_of(" \t\r\n") + 1);
    if (line.ends_with(close)) return {Mark::kClose, line.size() - close.size()};
    if (line.ends_with(open)) return {Mark::kOpen, line.size() - open.size()};
    return {Mark::kNone, 0};
  }
  const std::string open, close;
};

/// Content-ID is returned in the answer, so it must be harmless there.
std::string_view content_id_of(const HeaderList& request, const HeaderList& part) {
  auto id = find_header(request, "content-id");
  if (!id) id = find_header(part, "content-id");
  if (!id || id->size() > kMaxContentId) return {};
  return std::ranges::all_of(*id, [](char c) { return c > ' ' && c < '\x7F'; }) ? *id : std::string_view{};
}

/// Parses an HTTP request inside a part whose MIME headers are read already.
Result<BatchPart> parse_request(std::string_view text) {
  skip_empty_lines(text);
  std::string_view line;
  if (!take_line(text, line)) return malformed_batch("a part holds no request");
  BatchPart part;
  auto first = line.find(' ');
  auto last = line.rfind(' ');
  if (first == std::string_view::npos || first == last || !line.substr(last + 1).starts_with("HTTP/")) {
    return malformed_batch("a request line cannot be read");
  }
  part.method = line.substr(0, first);
  part.uri = trimmed(line.substr(first + 1, last - first - 1));
  part.headers = TRY(take_headers(text));
  skip_empty_lines(text);
  trim_one_line_end(text);
  part.body = text;
  return part;
}

}  // namespace

std::unexpected<Error> malformed_batch(std::string_view what) {
  return fail(ErrorCode::kInvalidInput, "The batch request is malformed: " + std::string(what) + ".");
}

void skip_empty_lines(std::string_view& text) {
  while (text.starts_with("\r\n") || text.starts_with("\n")) text.remove_prefix(text.front() == '\r' ? 2 : 1);
}

std::vector<std::string_view> split_parts(std::string_view text, std::string_view boundary, std::size_t limit) {
  const Marks marks(boundary);
  std::vector<std::string_view> parts;
  std::optional<std::size_t> begin;
  std::size_t at = 0;
  while (at < text.size() && parts.size() < limit) {
    auto end = text.find('\n', at);
    auto next = end == std::string_view::npos ? text.size() : end + 1;
    const auto [mark, offset] = marks.find_in(text.substr(at, next - at));
    if (mark != Mark::kNone) {
      if (begin) parts.push_back(text.substr(*begin, at + offset - *begin));
      begin.reset();
      if (mark == Mark::kClose) return parts;
      begin = next;
    }
    at = next;
  }
  if (begin && parts.size() < limit && !trimmed(text.substr(*begin)).empty()) parts.push_back(text.substr(*begin));
  return parts;
}

Result<HeaderList> take_headers(std::string_view& text) {
  HeaderList headers;
  std::string_view line;
  while (take_line(text, line)) {
    if (line.empty()) break;
    auto colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0) return malformed_batch("a header line has no name");
    if (headers.size() == kMaxHeaders) return malformed_batch("a part has too many headers");
    headers.emplace_back(trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  }
  return headers;
}

Result<BatchPart> parse_http_part(std::string_view text) {
  skip_empty_lines(text);
  auto headers = TRY(take_headers(text));
  auto type = find_header(headers, "content-type");
  if (!type || !to_lower_ascii(*type).starts_with("application/http")) {
    return malformed_batch("a part is not application/http");
  }
  auto part = TRY(parse_request(text));
  part.content_id = content_id_of(part.headers, headers);
  return part;
}

std::optional<std::string_view> find_header(const HeaderList& headers, std::string_view name) {
  for (const auto& [key, value] : headers) {
    if (iequals_ascii(key, name)) return value;
  }
  return std::nullopt;
}

std::optional<std::string> multipart_boundary(std::string_view content_type) {
  auto lower = to_lower_ascii(content_type);
  if (!lower.starts_with("multipart/mixed")) return std::nullopt;
  auto at = lower.find("boundary=");
  if (at == std::string::npos) return std::nullopt;
  auto value = content_type.substr(at + 9);
  if (value.starts_with('"')) {
    value.remove_prefix(1);
    auto quote = value.find('"');
    if (quote == std::string_view::npos) return std::nullopt;
    value = value.substr(0, quote);
  } else {
    value = trimmed(value.substr(0, value.find(';')));
  }
  if (value.empty() || value.size() > kMaxBoundary) return std::nullopt;
  return std::string(value);
}

}  // namespace tidemark::protocol
