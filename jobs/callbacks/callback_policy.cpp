#include "jobs/callbacks/callback_policy.h"

#include <algorithm>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <charconv>

#include "common/base/encoding.h"
#include "common/base/text.h"

namespace tidemark::jobs {
namespace {

namespace ip = boost::asio::ip;

struct Block4 {
  std::uint32_t prefix;
  unsigned length;
};

// IANA's registry of special-purpose addresses, except those that are reachable from everywhere.
constexpr Block4 kSpecial4[] = {
    {0x00000000, 8},   // this network
    {0x0A000000, 8},   // private
    {0x64400000, 10},  // carriers' shared addresses
    {0x7F000000, 8},   // loopback
    {0xA83F8110, 32},  // 168.63.129.16: Azure's host, which hands out configuration
    {0xA9FE0000, 16},  // link-local, where clouds keep credentials
    {0xAC100000, 12},  // private
    {0xC0000000, 24},  // protocol assignments
    {0xC0000200, 24},  // documentation
    {0xC0586300, 24},  // relays of 6to4
    {0xC0A80000, 16},  // private
    {0xC6120000, 15},  // benchmarks
    {0xC6336400, 24},  // documentation
    {0xCB007100, 24},  // documentation
    {0xE0000000, 4},   // multicast
    {0xF0000000, 4},   // reserved, broadcast
};

bool is_public4(std::uint32_t address) {
  return std::none_of(std::begin(kSpecial4), std::end(kSpecial4),
                      [&](const Block4& block) { return ((address ^ block.prefix) >> (32 - block.length)) == 0; });
}

std::uint32_t last_four(const ip::address_v6::bytes_type& bytes) {
  return std::uint32_t{bytes[12]} << 24 | std::uint32_t{bytes[13]} << 16 | std::uint32_t{bytes[14]} << 8 | bytes[15];
}

bool starts_with(const ip::address_v6::bytes_type& bytes, std::initializer_list<unsigned char> prefix) {
  return std::equal(prefix.begin(), prefix.end(), bytes.begin());
}

bool is_public6(const ip::address_v6& address) {
  const auto bytes = address.to_bytes();
  if (address.is_v4_mapped()) return is_public4(last_four(bytes));
  // NAT64 (RFC 6052): the router connects to the address inside.
  if (starts_with(bytes, {0x00, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0})) return is_public4(last_four(bytes));
  if ((bytes[0] & 0xE0) != 0x20) return false;                            // only 2000::/3 is global unicast
  if (starts_with(bytes, {0x20, 0x01}) && bytes[2] < 0x02) return false;  // protocol assignments, Teredo
  if (starts_with(bytes, {0x20, 0x01, 0x0D, 0xB8})) return false;         // documentation
  if (starts_with(bytes, {0x20, 0x02})) return false;                     // 6to4: an IPv4 address inside
  return !(starts_with(bytes, {0x3F, 0xFF}) && (bytes[2] & 0xF0) == 0);   // documentation
}

std::unexpected<Error> bad_entry(std::string_view text) {
  return fail(ErrorCode::kConfigInvalid, "'" + std::string(text) +
                                             "' is no host for callbacks: write NAME, *.SUFFIX, an address or *, "
                                             "and :PORT or :* if it is not the port of the scheme");
}

/// Returns the host as a setting names it: with its port, unless it is the default port of the scheme.
std::string entry_of(const CallbackUrl& url) {
  constexpr std::uint16_t kTls = 443, kPlain = 80;
  const bool usual = url.port == (url.tls ? kTls : kPlain);
  const auto host = url.address && url.address->is_v6() && !usual ? "[" + url.host + "]" : url.host;
  return usual ? host : host + ":" + std::to_string(url.port);
}

std::unexpected<Error> refuse(const CallbackUrl& url, const std::string& why) {
  return fail(ErrorCode::kCallbackRefused, "Callbacks to " + url.origin() + " are not allowed: " + why + ".");
}

}  // namespace

bool is_public_address(const ip::address& address) {
  return address.is_v4() ? is_public4(address.to_v4().to_uint()) : is_public6(address.to_v6());
}

Result<HostList::Entry> HostList::parse_entry(std::string_view text) {
  Entry entry;
  auto host = text;
  // The text after the last colon is a port, unless the colon is in an IPv6 address.
  const auto colon = text.rfind(':');
  if (colon != std::string_view::npos && text.find(']', colon) == std::string_view::npos) {
    const auto port = text.substr(colon + 1);
    host = text.substr(0, colon);
    entry.any_port = port == "*";
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), entry.port);
    const bool number = !port.empty() && error == std::errc() && end == port.data() + port.size() && entry.port != 0;
    if (!entry.any_port && !number) return bad_entry(text);
  }
  if (host == "*") return entry;
  entry.below = host.starts_with("*.");
  if (entry.below) host.remove_prefix(2);
  // The entry is checked and normalised like the URLs that it is compared with.
  auto url = parse_callback_url("https://" + std::string(host) + "/");
  if (!url || url->port != 443 || url->text != url->origin() + "/" || (entry.below && url->address)) {
    return bad_entry(text);
  }
  entry.host = std::move(url->host);
  return entry;
}

Result<HostList> HostList::parse(std::string_view text) {
  HostList out;
  while (!text.empty()) {
    const auto piece = trimmed(take_item(text));
    if (piece.empty()) continue;
    auto entry = TRY(parse_entry(piece));
    out.entries_.push_back(std::move(entry));
  }
  return out;
}

bool HostList::contains(const CallbackUrl& url) const {
  const std::uint16_t usual = url.tls ? 443 : 80;
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    if (!entry.any_port && url.port != (entry.port == 0 ? usual : entry.port)) return false;
    if (entry.host.empty()) return true;
    if (!entry.below) return url.host == entry.host;
    return url.host.size() > entry.host.size() + 1 && url.host.ends_with(entry.host) &&
           url.host[url.host.size() - entry.host.size() - 1] == '.';
  });
}

Result<CallbackPolicy> CallbackPolicy::create(std::string_view hosts, std::string_view private_hosts,
                                              std::string_view http_hosts) {
  CallbackPolicy out;
  for (const auto& [text, into] : {std::pair(hosts, &out.hosts_), std::pair(private_hosts, &out.private_hosts_),
                                   std::pair(http_hosts, &out.http_hosts_)}) {
    auto list = TRY(HostList::parse(text));
    *into = std::move(list);
  }
  return out;
}

Result<void> CallbackPolicy::admit(const CallbackUrl& url) const {
  std::string why;
  const auto lacks = [&why](const std::string& reason) { why += (why.empty() ? "" : "; ") + reason; };
  if (!enabled()) {
    lacks("callback_hosts is empty (once it is set, the workers need callback_secrets, too)");
  } else if (!hosts_.contains(url)) {
    lacks(entry_of(url) + " is not in callback_hosts");
  }
  if (!url.tls && !http_hosts_.contains(url))
    lacks("without TLS " + entry_of(url) + " would have to be in callback_http_hosts");
  // A name is looked up when it is called; where more is missing, the address of localhost is told beforehand.
  const bool is_private = url.address ? !is_public_address(*url.address) : url.host == "localhost" && !why.empty();
  if (is_private && !private_hosts_.contains(url))
    lacks("the address is not a public one, so " + entry_of(url) + " would have to be in callback_private_hosts");
  if (!why.empty()) return refuse(url, why);
  return {};
}

bool CallbackPolicy::may_connect(const CallbackUrl& url, const ip::address& address) const {
  return is_public_address(address) || private_hosts_.contains(url);
}

}  // namespace tidemark::jobs
