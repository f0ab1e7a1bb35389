// Decides what happens to a job after an error. Pure. There are four classes of errors:
//   transient  retry with exponential backoff and full jitter
//   throttled  retry after the server's hint; the attempt is not counted
//   conflict   others changed the same entities for too long: retry like transient
//   permanent  can never succeed: poison at once
#pragma once
#include <cstdint>
#include <string_view>

#include "common/base/error.h"
#include "common/base/random.h"
#include "common/base/time.h"

namespace tidemark::jobs {

enum class ErrorClass : std::uint8_t { kTransient = 1, kThrottled = 2, kConflict = 3, kPermanent = 4, kNotOurs = 5 };

/// kNotOurs: the lease or the fence is lost, so another delivery decides; this one stops and changes nothing.
ErrorClass classify(ErrorCode code);
std::string_view class_name(ErrorClass error_class);
/// A store that cannot be reached is not the message's fault.
bool counts_as_attempt(ErrorCode code);

enum class Treatment : std::uint8_t { kRetry = 1, kPoison = 2, kAbandon = 3 };

struct Decision {
  Treatment treatment = Treatment::kRetry;
  Duration delay{};
  bool count_attempt = true;
};

struct RetryPolicy {
  Duration base = std::chrono::seconds(1);
  Duration cap = std::chrono::seconds(60);

  /// Uniform in [0, min(cap, base * 2^(failures - 1))]; `failures` from 1.
  [[nodiscard]] Duration backoff(std::uint32_t failures, Random& random) const;
  /// `attempt`: the number of this delivery, from 1. `stalls`: uncounted failures in a row before this one.
  [[nodiscard]] Decision decide(const Error& error, std::uint32_t attempt, std::uint32_t stalls,
                                std::uint32_t max_attempts, Random& random) const;
};

}  // namespace tidemark::jobs
