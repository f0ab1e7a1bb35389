// Where a callback goes, read strictly: what two readers of a URL could understand differently is refused, so that the
// host that was checked is the host that is called. Absolute http or https, no user info, no fragment, no escapes in
// the host, no host that some resolver takes for an odd IPv4 address (0x7f.1, 2130706433), no trailing dot. An
// international name comes as punycode. The grammar is RFC 3986, by Boost.URL. Pure.
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
  std::optional<boost::asio::ip::address> address;  // if the host is one
  std::uint16_t port = 443;
  std::string text;  // as it is requested: rebuilt from what was read

  /// "https://example.com:8443": for messages, since the rest may hold secrets.
  [[nodiscard]] std::string origin() const;
};

/// kInvalidInput; the message completes "url ...".
Result<CallbackUrl> parse_callback_url(std::string_view text);

}  // namespace tidemark::jobs
