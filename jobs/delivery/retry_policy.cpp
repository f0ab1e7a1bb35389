#include "jobs/delivery/retry_policy.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "jobs/spec/names.h"

namespace tidemark::jobs {
namespace {

constexpr Names<ErrorClass, 5> kClasses{{{ErrorClass::kTransient, "transient"},
                                         {ErrorClass::kThrottled, "throttled"},
                                         {ErrorClass::kConflict, "conflict"},
                                         {ErrorClass::kPermanent, "permanent"},
                                         {ErrorClass::kNotOurs, "superseded"}}};

/// The server's hint, if it gave one.
std::optional<Duration> retry_after(const Error& error) {
  for (const auto& [name, value] : error.fields) {
    std::int64_t ms = 0;
    if (name != "retryAfterMs") continue;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), ms);
    if (parsed.ec == std::errc() && ms >= 0) return std::chrono::milliseconds(std::min<std::int64_t>(ms, 600'000));
  }
  return std::nullopt;
}

}  // namespace

ErrorClass classify(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInternalError:
    case ErrorCode::kOperationTimedOut:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kUnavailable:
    case ErrorCode::kStorageFailure:
    case ErrorCode::kInsufficientStorage:
    case ErrorCode::kCallbackFailed:
      return ErrorClass::kTransient;
    case ErrorCode::kServerBusy:
      return ErrorClass::kThrottled;
    case ErrorCode::kUpdateConditionNotSatisfied:
    case ErrorCode::kConditionNotMet:
    case ErrorCode::kEntityAlreadyExists:
      return ErrorClass::kConflict;
    case ErrorCode::kFenced:
    case ErrorCode::kLeaseLost:
    case ErrorCode::kCancelled:
    case ErrorCode::kMessageNotFound:
      return ErrorClass::kNotOurs;
    default:
      return ErrorClass::kPermanent;
  }
}

std::string_view class_name(ErrorClass error_class) { return name_in(kClasses, error_class); }

bool counts_as_attempt(ErrorCode code) {
  switch (code) {
    // The stores are in trouble, and no job is to blame.
    case ErrorCode::kUnavailable:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kServerBusy:
    case ErrorCode::kStorageFailure:
    case ErrorCode::kInsufficientStorage:
    case ErrorCode::kInternalError:
      return false;
    default:
      return true;
  }
}

Duration RetryPolicy::backoff(std::uint32_t failures, Random& random) const {
  auto bound = std::min(base, cap);
  for (std::uint32_t i = 1; i < failures && bound < cap; ++i) bound = std::min(bound * 2, cap);
  return Duration(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound.count()) + 1)));
}

Decision RetryPolicy::decide(const Error& error, std::uint32_t attempt, std::uint32_t stalls,
                             std::uint32_t max_attempts, Random& random) const {
  const auto error_class = classify(error.code);
  if (error_class == ErrorClass::kNotOurs) return {Treatment::kAbandon, {}, false};
  if (error_class == ErrorClass::kPermanent) return {Treatment::kPoison, {}, true};
  if (!counts_as_attempt(error.code)) {
    const auto hint = retry_after(error);
    return {Treatment::kRetry, hint ? *hint : backoff(stalls + 1, random), false};
  }
  if (attempt >= max_attempts) return {Treatment::kPoison, {}, true};
  return {Treatment::kRetry, backoff(attempt, random), true};
}

}  // namespace tidemark::jobs
