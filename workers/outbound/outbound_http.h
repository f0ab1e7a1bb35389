// Requests to endpoints of users, as jobs see them. One implementation speaks HTTP (curl_http.h); tests and the
// simulation have their own. Thread safe; must outlive the calls.
//   kCallbackFailed   no answer: the name, the connection, TLS or the time
//   kCallbackRefused  the address must not be connected to
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/async.h"
#include "jobs/callbacks/callback_url.h"

namespace tidemark::workers {

/// What is read of an answer; the rest is left.
inline constexpr std::size_t kMaxAnswerBytes = 64UL << 10;

struct OutboundRequest {
  std::string method;
  jobs::CallbackUrl url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  Duration timeout{};  // for everything, name and connection included
};

struct OutboundReply {
  unsigned status = 0;
  std::optional<Duration> retry_after;
  std::string body;  // its beginning
};

class OutboundHttp {
 public:
  virtual ~OutboundHttp() = default;
  /// Sends once and follows no redirect. Resumes on the caller's executor.
  virtual Task<Result<OutboundReply>> send(OutboundRequest request) = 0;
};

}  // namespace tidemark::workers
