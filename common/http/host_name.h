// The name in a Host header, for servers that answer only to names they know. Any web page can make a browser connect
// to this machine under a name of the page's choice (DNS rebinding), but not under an address or a name of this
// machine.
#pragma once
#include <boost/asio/ip/address.hpp>
#include <string>
#include <string_view>

#include "common/base/encoding.h"

namespace tidemark::http {

/// Returns the host without its port, and without the brackets of an IPv6 address.
inline std::string_view host_name(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

inline bool is_address(std::string_view name) {
  boost::system::error_code no_address;
  (void)boost::asio::ip::make_address(std::string(name), no_address);
  return !no_address;
}

/// Returns the network under which an address is counted: a client with an IPv6 address has all 2^64 of its network.
inline std::string network_of(std::string_view address) {
  if (address.find(':') == std::string_view::npos) return std::string(address);
  boost::system::error_code no_address;
  const auto parsed = boost::asio::ip::make_address(std::string(address), no_address);
  if (no_address || !parsed.is_v6()) return std::string(address);
  const auto v6 = parsed.to_v6();
  const auto bytes = v6.to_bytes();
  return {reinterpret_cast<const char*>(bytes.data()), v6.is_v4_mapped() ? bytes.size() : 8};
}

inline bool is_loopback_name(std::string_view name) {
  constexpr std::string_view kLocalhost = "localhost";
  if (iequals_ascii(name, kLocalhost)) return true;
  boost::system::error_code no_address;
  const auto address = boost::asio::ip::make_address(std::string(name), no_address);
  return !no_address && address.is_loopback();
}

}  // namespace tidemark::http
