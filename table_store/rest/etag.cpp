#include "table_store/rest/etag.h"

#include "common/base/encoding.h"

namespace tidemark::table_store {
namespace {
constexpr std::string_view kPrefix = "W/\"datetime'";
constexpr std::string_view kSuffix = "'\"";
constexpr std::string_view kMalformed = "The etag value specified in one of the request headers is not valid.";
}  // namespace

Time time_of(Version version) { return Time{Ticks{version}}; }

std::string etag_of(Version version) {
  std::string out(kPrefix);
  for (char c : to_iso8601(time_of(version))) {
    if (c == ':') {
      out += "%3A";
    } else {
      out += c;
    }
  }
  out += kSuffix;
  return out;
}

Result<std::optional<Version>> parse_if_match(std::string_view header) {
  if (header == "*") return std::optional<Version>{};
  if (header.size() < kPrefix.size() + kSuffix.size() || !header.starts_with(kPrefix) || !header.ends_with(kSuffix)) {
    return fail(ErrorCode::kInvalidInput, std::string(kMalformed));
  }
  auto inside = header.substr(kPrefix.size(), header.size() - kPrefix.size() - kSuffix.size());
  auto decoded = percent_decode(inside, false);
  auto time = decoded ? parse_iso8601(*decoded) : std::nullopt;
  if (!time) return fail(ErrorCode::kInvalidInput, std::string(kMalformed));
  Version version = time->time_since_epoch().count();
  return std::optional<Version>{etag_of(version) == header ? version : kNoSuchVersion};
}

}  // namespace tidemark::table_store
