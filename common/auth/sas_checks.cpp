// The demands of a SAS on a request, apart from its signature.
#include <charconv>

#include "common/auth/sas.h"
#include "common/auth/signature.h"

namespace tidemark::auth {
namespace {

std::optional<std::uint32_t> parse_ipv4(std::string_view text) {
  std::uint32_t address = 0;
  for (int part = 0; part < 4; ++part) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const auto digits = static_cast<std::size_t>(end - text.data());
    if (error != std::errc() || digits > 3 || value > 255) return std::nullopt;
    address = address << 8 | value;
    text.remove_prefix(digits);
    if (part == 3) break;
    if (text.empty() || text.front() != '.') return std::nullopt;
    text.remove_prefix(1);
  }
  if (!text.empty()) return std::nullopt;
  return address;
}

struct AddressRange {
  std::uint32_t low = 0, high = 0;
};

std::optional<AddressRange> parse_range(std::string_view sip) {
  const auto dash = sip.find('-');
  const auto low = parse_ipv4(sip.substr(0, dash));
  const auto high = dash == std::string_view::npos ? low : parse_ipv4(sip.substr(dash + 1));
  if (!low || !high) return std::nullopt;
  return AddressRange{*low, *high};
}

Result<void> check_address(std::string_view sip, std::string_view remote) {
  if (sip.empty()) return {};
  const auto range = parse_range(sip);
  if (!range) return fail(authentication_failed("sip must be an IPv4 address or a range of two."));
  constexpr std::string_view kMapped = "::ffff:";  // an IPv4 client seen through an IPv6 socket
  if (remote.starts_with(kMapped)) remote.remove_prefix(kMapped.size());
  const auto caller = parse_ipv4(remote);
  if (!caller || *caller < range->low || *caller > range->high) return fail(ErrorCode::kAuthorizationSourceIPMismatch);
  return {};
}

Result<void> check_dates(std::string_view start, std::string_view expiry, Time now) {
  const auto until = parse_iso8601(expiry);
  if (!until) return fail(authentication_failed("The expiry (se) of the SAS is missing or is not a UTC date."));
  if (!start.empty()) {
    const auto from = parse_iso8601(start);
    if (!from) return fail(authentication_failed("The start (st) of the SAS is not a UTC date."));
    if (now < *from) {
      return fail(authentication_failed("The SAS is not valid yet: it starts at " + to_iso8601(*from) +
                                        ", the server's time is " + to_iso8601(now) + "."));
    }
  }
  if (now >= *until) {
    return fail(authentication_failed("The SAS has expired at " + to_iso8601(*until) + ", the server's time is " +
                                      to_iso8601(now) + ". Make a new one."));
  }
  return {};
}

}  // namespace

bool is_address_range(std::string_view text) { return parse_range(text).has_value(); }

Result<void> check_key_dates(const SasFields& fields, Time now) {
  const auto from = parse_iso8601(fields.skt), until = parse_iso8601(fields.ske);
  if (!from || !until) {
    return fail(authentication_failed("The start (skt) or expiry (ske) of the user delegation key is not a UTC date."));
  }
  if (now < *from || now >= *until) {
    return fail(authentication_failed("The user delegation key is valid from " + to_iso8601(*from) + " to " +
                                      to_iso8601(*until) + ", the server's time is " + to_iso8601(now) + "."));
  }
  return {};
}

Result<void> check_conditions(std::string_view start, std::string_view expiry, const SasFields& fields,
                              std::string_view remote_address, bool https, Time now) {
  TRY(check_dates(start, expiry, now));
  TRY(check_address(fields.sip, remote_address));
  if (fields.spr == "https") return https ? Result<void>{} : fail(ErrorCode::kAuthorizationProtocolMismatch);
  if (!fields.spr.empty() && fields.spr != "https,http" && fields.spr != "http,https") {
    return fail(authentication_failed("spr must be https or https,http."));
  }
  return {};
}

}  // namespace tidemark::auth
