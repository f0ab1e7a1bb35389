// OutboundHttp by libcurl, which covers the duties of such a client: TLS with the system's certificates, names with
// several addresses, connections that are kept. Each request has a thread while it is under way. The policy checks each
// address right before a socket to it is opened, so a name cannot resolve to one address for the check and another for
// the connection. There are no proxies, redirects, cookies or other protocols.
#pragma once
#include <memory>
#include <string>

#include "jobs/callbacks/callback_policy.h"
#include "workers/outbound/outbound_http.h"

namespace tidemark::workers {

struct CurlHttpOptions {
  jobs::CallbackPolicy policy;
  std::string ca_file;  // PEM; trusted in addition to the system's certificates; empty for none
  std::string user_agent = "Tidemark";
  std::size_t max_connections = 64;
};

/// The destructor ends current requests; their coroutines are resumed only if their executors still run. kConfigInvalid
/// if the certificates cannot be read.
Result<std::unique_ptr<OutboundHttp>> make_curl_http(CurlHttpOptions options);

}  // namespace tidemark::workers
