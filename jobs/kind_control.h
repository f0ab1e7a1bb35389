// What operators set for a kind of job: paused, and how many of it may run at once over all workers. Rows of the jobs'
// table: PartitionKey 'control', RowKey the kind, properties Paused (Boolean) and MaxRunning (Int32, 0: no limit). The
// limit is kept by slots: rows 'slots' / 'KIND-NNN' that name the job and the time until which it may hold them; a slot
// whose time has passed is free, so a limit may be exceeded for a moment when a worker stalls. Stateless.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "common/base/async.h"
#include "table_store/internal/table_client.h"

namespace tidemark::jobs {

inline constexpr std::uint32_t kMaxRunningLimit = 1000;

struct KindControl {
  std::string kind;
  bool paused = false;
  std::uint32_t max_running = 0;  // 0: no limit
};

struct KindSlot {
  std::string row_key;
  table_store::Version version = 0;
};

class KindControls {
 public:
  explicit KindControls(table_store::TableClient& tables, Clock& clock) : tables_(tables), clock_(clock) {}

  /// Of kinds that something was set for.
  Task<Result<std::vector<KindControl>>> list();
  /// Absent members stay as they are.
  Task<Result<KindControl>> set(std::string kind, std::optional<bool> paused, std::optional<std::uint32_t> max_running);

  /// Nothing if all slots are taken.
  Task<Result<std::optional<KindSlot>>> take_slot(std::string kind, std::uint32_t slots, std::string job_id,
                                                  Duration hold);
  /// False: another job has it.
  Task<Result<bool>> keep_slot(KindSlot& slot, std::string job_id, Duration hold);
  Task<Result<void>> free_slot(KindSlot slot);

 private:
  Task<Result<std::optional<table_store::Version>>> write_slot(std::string row_key,
                                                               std::optional<table_store::Version> seen,
                                                               std::string job_id, Duration hold);
  table_store::TableClient& tables_;
  Clock& clock_;
};

}  // namespace tidemark::jobs
