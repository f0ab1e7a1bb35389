// The limits that operators set for a kind of job, a table, or a partition of a table, so that bulk work leaves room
// for others: how much may happen at once and how fast, for all workers together. A kind can also be paused, or have a
// queue of its own (jobs/spec/job_queues.h). Rows of the jobs' table:
//   'control' / KEY          Scope Name Key (of a partition), Paused, MaxRunning, MaxPerSecond, Queue; only if one is
//                            set
//   'slots' / KEY-NNNN       JobId, HeldUntil: the running jobs. A slot whose time has passed is free, so a limit
//                            may be exceeded for a moment when a worker stalls.
//   'rates' / KEY            BookedUntil: the time up to which the rate is booked. A job that will make changes
//                            moves it on by the time that they take at this rate, and makes them at its former value.
// KEY is the kind, 'table:' and the name in lower case, or 'partition:', that name, ':' and the SHA-256 of the key.
// Has no state of its own, so any number of instances may work at once.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/async.h"
#include "jobs/spec/names.h"
#include "jobs/store/fields.h"
#include "jobs/store/partition_rows.h"

namespace tidemark::jobs {

inline constexpr std::uint32_t kMaxRunningLimit = 1000;
inline constexpr std::uint32_t kMaxPerSecondLimit = 10'000'000;
/// The number of kinds, tables and partitions that can have limits; each worker keeps all of them.
inline constexpr std::size_t kMaxLimits = 1000;

enum class LimitScope : std::uint8_t { kKind = 1, kTable = 2, kPartition = 3 };
inline constexpr Names<LimitScope, 3> kLimitScopes{
    {{LimitScope::kKind, "kind"}, {LimitScope::kTable, "table"}, {LimitScope::kPartition, "partition"}}};
std::string_view scope_name(LimitScope scope);
std::optional<LimitScope> scope_from_name(std::string_view name);

struct LimitTarget {
  LimitScope scope = LimitScope::kKind;
  std::string name;           // the kind or the table
  std::string partition_key;  // for a partition
  bool operator==(const LimitTarget&) const = default;
};
LimitTarget kind_target(std::string_view kind);
LimitTarget table_target(std::string_view table);
LimitTarget partition_target(std::string_view table, std::string_view partition_key);
/// Returns the KEY of the rows. Names of tables match in any case.
std::string limit_key(const LimitTarget& target);

struct Limit {
  LimitTarget target;
  bool paused = false;               // kinds
  std::uint32_t max_running = 0;     // jobs, or transactions for a partition; 0 for no limit
  std::uint32_t max_per_second = 0;  // entities; 0 for no limit
  std::string queue;                 // kinds: the queue of jobs that name none; empty: those of the priorities
  [[nodiscard]] bool nothing_set() const { return !paused && max_running == 0 && max_per_second == 0 && queue.empty(); }
};

inline constexpr std::tuple kLimitFields{Field{"Paused", &Limit::paused}, Field{"MaxRunning", &Limit::max_running},
                                         Field{"MaxPerSecond", &Limit::max_per_second},
                                         Field{"Queue", &Limit::queue, kSparse}};

/// Members that are absent stay as they are.
struct LimitChange {
  std::optional<bool> paused;
  std::optional<std::uint32_t> max_running;
  std::optional<std::uint32_t> max_per_second;
  std::optional<std::string> queue = {};  // empty: none
};

struct LimitSlot {
  std::string row_key;
  table_store::Version version = 0;
};

class Limits {
 public:
  Limits(table_store::TableClient& tables, Clock& clock);

  /// Returns all limits that are set.
  Task<Result<std::vector<Limit>>> list();
  /// kInvalidInput if there are kMaxLimits others.
  Task<Result<Limit>> set(LimitTarget target, LimitChange change);

  /// Returns nothing if all slots are taken. A holder that has a slot gets the same one again.
  Task<Result<std::optional<LimitSlot>>> take_slot(std::string key, std::uint32_t slots, std::string holder,
                                                   Duration hold);
  /// Returns false if another holder has it.
  Task<Result<bool>> keep_slot(LimitSlot& slot, std::string holder, Duration hold);
  Task<Result<void>> free_slot(LimitSlot slot);

  /// Returns how many slots of each limit are taken, by its key.
  Task<Result<std::map<std::string, std::uint32_t>>> held();

  /// Returns the time from which `amount` more may happen.
  Task<Result<Time>> book(std::string key, std::uint32_t per_second, std::uint64_t amount);

 private:
  table_store::TableClient& tables_;
  PartitionRows controls_, slots_, rates_;
  Clock& clock_;
};

}  // namespace tidemark::jobs
