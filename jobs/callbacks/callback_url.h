// The URL of a callback, parsed strictly. A URL that two parsers could understand differently is refused, so that the
// host that was checked is the host that is called. It must be an absolute http or https URL without user info,
// fragment, escapes in the host, or a trailing dot, and the host must not be one that resolvers take for an IPv4
// address in an odd form (0x7f.1, 2130706433). International names are in punycode. The grammar is RFC 3986, by
// Boost.URL. Pure.
#pragma once
#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace tidemark::jobs {

inline constexpr std::size_t kMaxCallbackUrlBytes = 2048;

struct CallbackUrl {
  bool tls = true;
  std::string host;  // lower case; an IPv6 address in its shortest form, without brackets
  std::optional<boost::asio::ip::address> address;  // set if the host is an address
  std::uint16_t port = 443;
  std::string text;  // as it will be requested, rebuilt from the parts

  /// Returns "https://example.com:8443", for messages; the rest of the URL may contain secrets.
  [[nodiscard]] std::string origin() const;
};

/// kInvalidInput; the message completes "url ...".
Result<CallbackUrl> parse_callback_url(std::string_view text);

}  // namespace tidemark::jobs
