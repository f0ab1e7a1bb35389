// Decides whether a job may run now and when it may make its next changes, by the limits of kinds, tables and
// partitions (jobs/limits/limits.h). The limits are read at most once a second. If the store does not answer, the last
// known limits hold and steps that need a call are allowed; the job itself will notice that the store is away. Rates
// are booked in chunks of a quarter of a second, so that not every change costs a call. Used from one strand.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "jobs/limits/limits.h"

namespace tidemark::workers {

inline constexpr Duration kGateRefresh = std::chrono::seconds(1);

enum class Admission : std::uint8_t { kEntered = 1, kPaused = 2, kFull = 3 };

/// Where a job makes changes; without a key, anywhere in the table.
struct PartitionRef {
  std::string table;
  std::optional<std::string> partition_key;
};

/// Keep it while you make the changes for which it was given. Empty if no limit requires it.
using StepPermit = std::shared_ptr<void>;

class LimitGate {
 public:
  LimitGate(table_store::TableClient& tables, Clock& clock, Duration lease)
      : limits_(tables, clock), clock_(clock), hold_(2 * lease) {}

  /// Reads the limits if the known ones are too old.
  Task<void> refresh();
  [[nodiscard]] bool paused(const std::string& kind) const;
  /// The queue that operators chose for the kind, by name; empty if they chose none.
  [[nodiscard]] std::string queue_of_kind(const std::string& kind) const;
  /// True if there are no limits for a job of the kind at these places.
  [[nodiscard]] bool unrestricted(const std::string& kind, const std::vector<PartitionRef>& places) const;
  /// A job that entered under limits of its kind and of the tables it names has slots until leave().
  Task<Admission> enter(std::string kind, std::vector<std::string> tables, std::string job_id);
  Task<void> leave(std::string job_id);

  /// Returns the time from which `count` changes at these places may be made, as far as rates go.
  Task<Time> book(std::string kind, std::vector<PartitionRef> places, std::uint64_t count);
  /// For changes in partitions with a limit on concurrent transactions. Returns nothing if there are too many; ask
  /// again.
  Task<std::optional<StepPermit>> permit(std::vector<PartitionRef> places, std::string holder);

 private:
  struct Held {
    std::string holder;
    std::uint32_t of = 0;  // how many slots the limit has
    std::string key;
    jobs::LimitSlot slot;
    Time kept_at{};
  };
  /// The unused rest of a chunk that was booked.
  struct Allowance {
    std::uint64_t credit = 0;
    Time from{};
    bool booking = false;
  };
  Task<void> keep_slots();
  [[nodiscard]] const jobs::Limit* find(const jobs::LimitTarget& target) const;
  using Figures = std::map<std::string, std::uint32_t>;  // a figure of each limit, by limit_key
  /// Returns the limits at these targets that have this figure.
  [[nodiscard]] Figures figures_at(const std::vector<jobs::LimitTarget>& targets,
                                   std::uint32_t jobs::Limit::* figure) const;
  /// Takes a slot of each of these limits, or none; false if one of them is full.
  Task<bool> take_slots(Figures limits, std::string holder);
  Task<Time> book_one(std::string key, std::uint32_t per_second, std::uint64_t count);

  jobs::Limits limits_;
  Clock& clock_;
  Duration hold_;
  std::map<std::string, jobs::Limit> known_;  // by limit_key
  std::vector<Held> held_;
  std::map<std::string, Allowance> allowances_;
  std::optional<Time> read_at_;
  bool reading_ = false;
  Signal booked_;
};

}  // namespace tidemark::workers
