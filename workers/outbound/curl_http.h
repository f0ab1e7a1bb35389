// OutboundHttp by libcurl, which brings what such a client must get right: TLS with the system's certificates, names
// with several addresses, connections kept for the next request. One thread drives all transfers. The policy is asked
// for each address right before a socket to it is opened, so a name cannot be resolved to one thing for the check and
// to another for the connection. No proxy, no redirect, no cookie, no other protocol.
#pragma once
#include <memory>
#include <string>

#include "jobs/callbacks/callback_policy.h"
#include "workers/outbound/outbound_http.h"

namespace tidemark::workers {

struct CurlHttpOptions {
  jobs::CallbackPolicy policy;
  std::string ca_file;  // PEM; trusted beside the system's certificates. Empty: none
  std::string user_agent = "Tidemark";
  std::size_t max_connections = 64;
};

/// Its destruction ends the requests under way, whose coroutines then are not resumed unless their executor runs on.
/// kConfigInvalid: the certificates cannot be read.
Result<std::unique_ptr<OutboundHttp>> make_curl_http(CurlHttpOptions options);

}  // namespace tidemark::workers
