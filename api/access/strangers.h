// Callers without a token that the api knows. Anybody can be one as often as they like, so they leave only a count and
// an occasional line in the log; an address that sends too many wrong tokens has to wait. Thread safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/base/async.h"
#include "common/base/mutex.h"
#include "common/process/line_limit.h"
#include "common/process/metrics.h"

namespace tidemark::api {

struct LoginLimits {
  std::uint32_t failures = 10;  // from one address (for IPv6: one /64)
  Duration within = std::chrono::minutes(10);
  std::size_t addresses = 4096;  // remembered; beyond that, the address with the oldest failure is forgotten
};

class Strangers {
 public:
  Strangers(process::Metrics& metrics, Clock& clock, LoginLimits limits = {});

  /// Counts a request without a known token, and may log it.
  void refused(std::string_view address, std::string_view operation);
  /// Returns how long a login from this address has to wait; nothing if it may be tried now.
  std::optional<Duration> must_wait(std::string_view address);
  void login_failed(std::string_view address);

 private:
  struct Failures {
    std::uint32_t count = 0;
    Duration since{};
  };
  void forget_oldest(Duration now) REQUIRES(mutex_);

  prometheus::Counter& refusals_;
  Clock& clock_;
  const LoginLimits limits_;
  process::LineLimit lines_{1};
  Mutex mutex_;
  std::unordered_map<std::string, Failures> failures_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::api
