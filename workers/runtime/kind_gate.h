// Whether a job of a kind may run now, by what operators set (jobs/kind_control.h). The settings are read at most every
// few seconds and kept meanwhile; when the store does not answer, the last known ones hold. Used from one strand.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "jobs/kind_control.h"

namespace tidemark::workers {

inline constexpr Duration kGateRefresh = std::chrono::seconds(2);

enum class Admission : std::uint8_t { kEntered = 1, kPaused = 2, kFull = 3 };

class KindGate {
 public:
  KindGate(table_store::TableClient& tables, Clock& clock, Duration lease)
      : controls_(tables, clock), clock_(clock), hold_(2 * lease) {}

  /// Reads the settings if what is known is old.
  Task<void> refresh();
  [[nodiscard]] bool paused(const std::string& kind) const;
  /// Nothing was set that keeps a job of the kind from running: enter() would let it in and book nothing.
  [[nodiscard]] bool unrestricted(const std::string& kind) const;
  /// A job that entered under a limit has a slot until leave().
  Task<Admission> enter(std::string kind, std::string job_id);
  Task<void> leave(std::string job_id);

 private:
  struct Held {
    std::string job_id;
    jobs::KindSlot slot;
    Time kept_at{};
  };
  Task<void> keep_slots();
  [[nodiscard]] const jobs::KindControl* find(const std::string& kind) const;

  jobs::KindControls controls_;
  Clock& clock_;
  Duration hold_;
  std::vector<jobs::KindControl> known_;
  std::vector<Held> held_;
  std::optional<Time> read_at_;
  bool reading_ = false;
};

}  // namespace tidemark::workers
