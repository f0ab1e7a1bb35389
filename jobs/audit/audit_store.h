// The audit trail of the api: who did what, when, from where, why, and with what outcome. An entry is an entity of
// table TidemarkAudit that any SDK can query. PartitionKey is the day, "79219-2026-11-23", with a number that falls,
// and RowKey is the time in the same form, as in a job's id: so the newest entry is first in key order, across days as
// well.
//
// An entry is written before its action begins, with the outcome "begun", and again with the final outcome. So no
// action is without an entry: if it cannot be written, the action is not begun; and if the process dies in between, the
// entry says that the outcome is unknown. Stateless.
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
inline constexpr const char* kBegun = "begun";      // it is in progress, or its outcome is unknown
inline constexpr const char* kDone = "done";        // answered with 2xx
inline constexpr const char* kRefused = "refused";  // the caller may not do it: nothing was done
inline constexpr const char* kFailed = "failed";    // answered with an error
}  // namespace outcome

struct AuditEntry {
  std::string id;  // RowKey; AuditStore sets it
  Time at{};       // AuditStore sets it
  std::string actor, role, via;
  std::string address;
  std::string operation;  // "jobs.cancel"
  std::string target;     // the object of the action
  std::string detail;
  std::optional<std::int64_t> count;  // how many objects, if it is known
  std::string reason;
  std::string outcome;
  std::int32_t status = 0;  // HTTP status of the answer; 0 while it is begun
  std::string code;         // the error's code
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
  std::uint64_t searched = 0;  // the entries that were looked at for the page
};

class AuditStore {
 public:
  AuditStore(table_store::TableClient& tables, Clock& clock, Random& random)
      : tables_(tables), clock_(clock), random_(random) {}

  /// Writes a new entry, and sets its id and time. Texts that are too long are cut.
  Task<Result<AuditEntry>> add(AuditEntry entry);
  /// Writes again an entry that was added before.
  Task<Result<void>> complete(AuditEntry entry);
  /// Lists the entries that match. A page may be shorter than `limit` (1..1000), even empty, and still have a
  /// continuation: it ends after kSearchPatience (jobs/store/rows.h).
  Task<Result<AuditPage>> list(AuditFilter filter, std::uint32_t limit, std::string continuation);

 private:
  table_store::TableClient& tables_;
  Clock& clock_;
  Random& random_;
};

/// Returns the partition of a time, such as "79219-2026-11-23".
std::string audit_partition(Time at);
/// Removes the entries that were written before `limit` by the time of the table store; returns how many.
Task<Result<std::uint64_t>> collect_audit(table_store::TableClient& tables, Time limit);

}  // namespace tidemark::jobs
