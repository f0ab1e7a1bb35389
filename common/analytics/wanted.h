// What an account wants to be recorded about the requests to one service: its service properties, as far as they say
// that. Pure.
#pragma once
#include <optional>
#include <string_view>

#include "common/analytics/counters.h"
#include "common/protocol/service_properties.h"

namespace tidemark::analytics {

struct WantedMetrics {
  bool enabled = false;
  bool of_operations = false;
  std::optional<std::uint32_t> days = {};  // how long they are kept; nothing: for good
};

struct Wanted {
  bool read = false, write = false, remove = false;
  LogVersion log_version = LogVersion::k1;
  std::optional<std::uint32_t> log_days = {};
  WantedMetrics hour, minute;

  [[nodiscard]] bool logs() const { return read || write || remove; }
  [[nodiscard]] bool logs(Access access) const;
  [[nodiscard]] bool anything() const { return logs() || hour.enabled || minute.enabled; }
};

/// `document` is a stored one: nothing is wanted if it is empty.
Wanted wanted_by(protocol::StoreKind store, std::string_view document);

}  // namespace tidemark::analytics
