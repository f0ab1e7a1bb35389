#include "common/analytics/wanted.h"

namespace tidemark::analytics {
namespace {

std::optional<std::uint32_t> days_of(const protocol::RetentionPolicy& policy) {
  return policy.enabled ? std::optional(policy.days) : std::nullopt;
}

WantedMetrics metrics_of(const std::optional<protocol::Metrics>& metrics) {
  if (!metrics) return {};
  return {metrics->enabled, metrics->enabled && metrics->include_apis, days_of(metrics->retention)};
}

}  // namespace

bool Wanted::logs(Access access) const {
  return access == Access::kRead ? read : access == Access::kWrite ? write : remove;
}

Wanted wanted_by(protocol::StoreKind store, std::string_view document) {
  Wanted wanted;
  if (document.empty()) return wanted;
  const auto properties = protocol::parse_service_properties(store, document);
  if (!properties) return wanted;
  if (const auto& logging = properties->logging) {
    wanted.read = logging->read;
    wanted.write = logging->write;
    wanted.remove = logging->remove;
    wanted.log_version = logging->version == "2.0" ? LogVersion::k2 : LogVersion::k1;
    wanted.log_days = days_of(logging->retention);
  }
  wanted.hour = metrics_of(properties->hour_metrics);
  wanted.minute = metrics_of(properties->minute_metrics);
  return wanted;
}

}  // namespace tidemark::analytics
