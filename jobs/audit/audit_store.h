// The audit trail of the api: who did what, when, from where, why, and what came of it. An entry is an entity of table
// TidemarkAudit that any SDK can query. PartitionKey is the day, "79219-2026-11-23", whose number falls, and RowKey the
// time in the same way, as in a job's id: so the newest is first in key order, across days as well.
//
// An entry is written before its action begins, with the outcome "begun", and again with what came of it. So no action
// is without an entry: if it cannot be written, the action is not begun; and if the process dies in between, the entry
// says that nobody knows how it ended. Stateless.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "jobs/store/fields.h"
#include "table_store/client/table_client.h"

namespace tidemark::jobs {

inline constexpr std::string_view kAuditTable = "TidemarkAudit";

namespace outcome {
inline constexpr const char* kBegun = "begun";      // it is being done, or nobody knows what came of it
inline constexpr const char* kDone = "done";        // answered with 2xx
inline constexpr const char* kRefused = "refused";  // the caller may not do it: nothing was done
inline constexpr const char* kFailed = "failed";    // answered with an error
}  // namespace outcome

struct AuditEntry {
  std::string id;  // RowKey; given by AuditStore
  Time at{};       // likewise
  std::string actor, role, via;
  std::string address;
  std::string operation;  // "jobs.cancel"
  std::string target;     // the thing that it was done to
  std::string detail;
  std::optional<std::int64_t> count;  // how many things, if it is known
  std::string reason;
  std::string outcome;
  std::int32_t status = 0;  // of the answer; 0 while it is begun
  std::string code;         // of the error
  std::string request_id;
};

inline constexpr std::tuple kAuditFields{
    Field{"At", &AuditEntry::at},
    Field{"Actor", &AuditEntry::actor},
    Field{"Role", &AuditEntry::role},
    Field{"Via", &AuditEntry::via},
    Field{"Address", &AuditEntry::address},
    Field{"Operation", &AuditEntry::operation},
    Field{"Target", &AuditEntry::target, kSparse},
    Field{"Detail", &AuditEntry::detail, kSparse},
    Field{"Count", &AuditEntry::count},
    Field{"Reason", &AuditEntry::reason, kSparse},
    Field{"Outcome", &AuditEntry::outcome},
    Field{"Status", &AuditEntry::status, kSparse},
    Field{"Code", &AuditEntry::code, kSparse},
    Field{"RequestId", &AuditEntry::request_id},
};

struct AuditFilter {
  std::optional<Time> since;
  std::string actor, operation, target;  // empty: any
};

struct AuditPage {
  std::vector<AuditEntry> entries;  // newest first
  std::string continuation;
  std::uint64_t searched = 0;  // entries that were looked at for the page
};

class AuditStore {
 public:
  AuditStore(table_store::TableClient& tables, Clock& clock, Random& random)
      : tables_(tables), clock_(clock), random_(random) {}

  /// Writes a new entry, and gives it its id and time. Texts that are too long are cut.
  Task<Result<AuditEntry>> add(AuditEntry entry);
  /// Writes an entry that was added again.
  Task<Result<void>> complete(AuditEntry entry);
  /// Those that match. A page may be shorter than `limit` (1..1000), even empty, and still have a continuation: it ends
  /// after kSearchPatience (jobs/store/rows.h).
  Task<Result<AuditPage>> list(AuditFilter filter, std::uint32_t limit, std::string continuation);

 private:
  table_store::TableClient& tables_;
  Clock& clock_;
  Random& random_;
};

/// "79219-2026-11-23"
std::string audit_partition(Time at);
/// Removes the entries that were written before `limit` by the time of the table store; how many.
Task<Result<std::uint64_t>> collect_audit(table_store::TableClient& tables, Time limit);

}  // namespace tidemark::jobs
