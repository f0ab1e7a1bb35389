// Requests to endpoints of users, as jobs see them. curl_http.h implements them; tests and the simulation have their
// own implementations. Thread safe; must outlive the calls.
//   kCallbackFailed   there was no answer, because of the name, the connection, TLS or the time-out
//   kCallbackRefused  connecting to the address is not allowed
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/async.h"
#include "jobs/callbacks/callback_url.h"

namespace tidemark::workers {

/// How much of an answer is read.
inline constexpr std::size_t kMaxAnswerBytes = 64UL << 10;

struct OutboundRequest {
  std::string method;
  jobs::CallbackUrl url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  Duration timeout{};  // for everything, including name resolution and connection
};

/// The longest time that an endpoint may ask for; if it asks for more, it is called again after this time.
inline constexpr std::int64_t kLongestRetryAfterS = 86'400;
inline std::optional<Duration> retry_after_of(std::int64_t seconds) {
  if (seconds <= 0) return std::nullopt;
  return std::chrono::seconds(std::min(seconds, kLongestRetryAfterS));
}

struct OutboundReply {
  unsigned status = 0;
  std::optional<Duration> retry_after;
  std::string body;  // the beginning of the body
};

class OutboundHttp {
 public:
  virtual ~OutboundHttp() = default;
  /// Sends once and follows no redirect. Resumes on the caller's executor.
  virtual Task<Result<OutboundReply>> send(OutboundRequest request) = 0;
};

}  // namespace tidemark::workers
