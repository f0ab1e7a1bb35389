// Which hosts callbacks may go to: a stack must not become a way into the network it stands in. The api asks before it
// accepts a job, the worker before it sends, and again for the very address it is about to connect to, so that a name
// that resolves to something else the next time gains nothing. Three lists, written by the operator:
//   hosts          all that may be called at all; empty: none
//   private_hosts  of these, such as may be at loopback, private, link-local or other special addresses
//   http_hosts     of these, such as may be called without TLS
// An entry is NAME, *.SUFFIX, an address, or * for all; then :PORT, :* for any port, or nothing for the port of the
// scheme. An IPv6 address stands in brackets. Entries are parted by commas. Pure, immutable.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "jobs/callbacks/callback_url.h"

namespace tidemark::jobs {

/// Whether it belongs to the public internet: none of the special blocks of RFC 6890 and its successors, nor an address
/// that carries such a one inside, nor one where a cloud keeps its machines' credentials.
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
  CallbackPolicy() = default;  // refuses everything
  static Result<CallbackPolicy> create(std::string_view hosts, std::string_view private_hosts,
                                       std::string_view http_hosts);  // kConfigInvalid
  [[nodiscard]] bool enabled() const { return !hosts_.empty(); }
  /// kCallbackRefused; the message names the setting.
  [[nodiscard]] Result<void> admit(const CallbackUrl& url) const;
  [[nodiscard]] bool may_connect(const CallbackUrl& url, const boost::asio::ip::address& address) const;

 private:
  HostList hosts_, private_hosts_, http_hosts_;
};

}  // namespace tidemark::jobs
