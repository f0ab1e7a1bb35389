// The records that an account wants of the requests to one service, as its service properties say. Pure.
#pragma once
#include <optional>
#include <string_view>

#include "common/analytics/counters.h"
#include "common/protocol/service_properties.h"

namespace tidemark::analytics {

struct WantedMetrics {
  bool enabled = false;
  bool of_operations = false;
  std::optional<std::uint32_t> days = {};  // how long they are kept; nothing: for ever
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

/// `document` is the stored one; if it is empty, nothing is wanted.
Wanted wanted_by(protocol::StoreKind store, std::string_view document);

}  // namespace tidemark::analytics
