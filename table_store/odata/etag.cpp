#include "table_store/odata/etag.h"

#include "common/base/encoding.h"

namespace tidemark::table_store {
namespace {
constexpr std::string_view kPrefix = "W/\"datetime'";
constexpr std::string_view kSuffix = "'\"";
constexpr std::string_view kMalformed = "The etag value specified in one of the request headers is not valid.";

/// Tells whether the header is W/"anything"; some clients write a small w.
bool is_weak_tag(std::string_view header) {
  return header.size() >= 4 && (header[0] == 'W' || header[0] == 'w') && header.substr(1).starts_with("/\"") &&
         header.ends_with('"');
}

/// Appends "2026-11-21T12:09:13.1864608Z" with its two colons escaped.
void append_escaped_time(std::string& out, std::string_view time) {
  out.append(time.substr(0, 13)).append("%3A").append(time.substr(14, 2)).append("%3A").append(time.substr(17));
}

}  // namespace

Time time_of(Version version) { return Time{Ticks{version}}; }

std::string etag_of(Version version) {
  const Iso8601Text text(time_of(version));
  std::string out;
  out.reserve(kPrefix.size() + text.view().size() + 4 + kSuffix.size());
  out.append(kPrefix);
  append_escaped_time(out, text.view());
  out.append(kSuffix);
  return out;
}

void append_etag_as_json(std::string& out, std::string_view time) {
  out.append(R"("W/\"datetime')");
  append_escaped_time(out, time);
  out.append(R"('\"")");
}

Result<std::optional<Version>> parse_if_match(std::string_view header) {
  if (header == "*") return std::optional<Version>{};
  if (!is_weak_tag(header)) return fail(ErrorCode::kInvalidInput, std::string(kMalformed));
  if (header.size() < kPrefix.size() + kSuffix.size() || !header.starts_with(kPrefix) || !header.ends_with(kSuffix)) {
    return std::optional<Version>{kNoSuchVersion};
  }
  auto inside = header.substr(kPrefix.size(), header.size() - kPrefix.size() - kSuffix.size());
  auto decoded = percent_decode(inside, false);
  auto time = decoded ? parse_iso8601(*decoded) : std::nullopt;
  if (!time) return std::optional<Version>{kNoSuchVersion};
  Version version = time->time_since_epoch().count();
  return std::optional<Version>{etag_of(version) == header ? version : kNoSuchVersion};
}

}  // namespace tidemark::table_store
