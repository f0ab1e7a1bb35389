#include "api/access/strangers.h"

#include <algorithm>

#include "common/base/log.h"
#include "common/http/host_name.h"

namespace tidemark::api {

Strangers::Strangers(process::Metrics& metrics, Clock& clock, LoginLimits limits)
    : refusals_(
          metrics.counter("tidemark_api_unauthorized_total", "Requests to the api without a token that it knows.")),
      clock_(clock),
      limits_(limits) {}

void Strangers::refused(std::string_view address, std::string_view operation) {
  refusals_.Increment();
  const auto left_out = lines_.admit();
  if (!left_out) return;
  log_warning("a request without a known token was refused address={} operation=\"{}\"{}", address, operation,
              *left_out > 0 ? " left_out=" + std::to_string(*left_out) : "");
}

std::optional<Duration> Strangers::must_wait(std::string_view address) {
  const auto now = clock_.monotonic();
  const MutexLock lock(mutex_);
  const auto found = failures_.find(http::network_of(address));
  if (found == failures_.end() || found->second.count < limits_.failures) return std::nullopt;
  const auto until = found->second.since + limits_.within;
  return now < until ? std::optional(until - now) : std::nullopt;
}

void Strangers::login_failed(std::string_view address) {
  const auto now = clock_.monotonic();
  const MutexLock lock(mutex_);
  auto network = http::network_of(address);
  if (!failures_.contains(network) && failures_.size() >= limits_.addresses) forget_oldest(now);
  auto& failures = failures_[std::move(network)];
  if (failures.count == 0 || now - failures.since >= limits_.within) failures = {0, now};
  ++failures.count;
}

void Strangers::forget_oldest(Duration now) {
  std::erase_if(failures_, [&](const auto& each) { return now - each.second.since >= limits_.within; });
  if (failures_.size() < limits_.addresses) return;
  failures_.erase(std::ranges::min_element(failures_, {}, [](const auto& each) { return each.second.since; }));
}

}  // namespace tidemark::api
