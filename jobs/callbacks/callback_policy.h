// The hosts that callbacks may go to, so that a stack does not become a way into the network around it. The api checks
// a job before it accepts it. The worker checks before it sends, and again for the address that it connects to, so a
// name that resolves to another address the next time gains nothing. The operator writes three lists:
//   hosts          all hosts that may be called; empty for none
//   private_hosts  those of them that may be at loopback, private, link-local or other special addresses
//   http_hosts     those of them that may be called without TLS
// An entry is NAME, *.SUFFIX, an address, or * for all, followed by :PORT, by :* for any port, or by nothing for the
// port of the scheme. IPv6 addresses are in brackets. Entries are separated by commas. Pure, immutable.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "jobs/callbacks/callback_url.h"

namespace tidemark::jobs {

/// Returns true for an address of the public internet: not in one of the special blocks of RFC 6890 and its successors,
/// not one that embeds such an address, and not one where a cloud keeps the credentials of its machines.
bool is_public_address(const boost::asio::ip::address& address);

class HostList {
 public:
  static Result<HostList> parse(std::string_view text);  // kConfigInvalid
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] bool contains(const CallbackUrl& url) const;

 private:
  struct Entry {
    std::string host;    // without "*." or brackets; empty for *
    bool below = false;  // *.host
    bool any_port = false;
    std::uint16_t port = 0;  // 0: the scheme's
  };
  static Result<Entry> parse_entry(std::string_view text);
  std::vector<Entry> entries_;
};

class CallbackPolicy {
 public:
  CallbackPolicy() = default;  // refuses all hosts
  static Result<CallbackPolicy> create(std::string_view hosts, std::string_view private_hosts,
                                       std::string_view http_hosts);  // kConfigInvalid
  [[nodiscard]] bool enabled() const { return !hosts_.empty(); }
  /// kCallbackRefused; the message names all settings that lack the host.
  [[nodiscard]] Result<void> admit(const CallbackUrl& url) const;
  [[nodiscard]] bool may_connect(const CallbackUrl& url, const boost::asio::ip::address& address) const;

 private:
  HostList hosts_, private_hosts_, http_hosts_;
};

}  // namespace tidemark::jobs
