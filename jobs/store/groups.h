// Groups: jobs that were submitted together, whose end is reported once. In table TidemarkJobs:
//   PartitionKey 'groups', RowKey id        the group: Members, Fingerprint, SubmittedAt, FinishedAt, OnEnd
//   PartitionKey 'group-ID', RowKey number  a member that has ended: JobId, State, EndedAt
// A member's row is written once, in one transaction with a counter in the ledger of operation 'group-ID', so that a
// member is counted once however often its end is reported. A process that finds that the counters have reached the
// number of members knows that the group has ended. A member's message is removed only after this check, so at least
// one process always finds it. References must outlive the calls, which fail with the codes of the table client.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "common/base/async.h"
#include "jobs/store/job_record.h"
#include "table_store/client/table_client.h"

namespace tidemark::jobs {

struct Group {
  std::string id;
  std::uint32_t members = 0;
  std::string fingerprint;
  Time submitted_at{};
  std::optional<Time> finished_at;
  std::optional<CallbackEndpoint> on_end;
  table_store::Version version = 0;
};

/// The progress of a group.
struct GroupStatus {
  Group group;
  std::map<JobState, std::uint64_t> states;  // the states of all its members
};

class Groups {
 public:
  Groups(table_store::TableClient& tables, Clock& clock) : tables_(tables), clock_(clock) {}

  /// Creates the group, or returns it as it is if it was created from the same jobs before. kIdempotencyKeyReused.
  Task<Result<Group>> create(Group group);
  Task<Result<std::optional<Group>>> find(std::string id);
  /// Returns nothing if there is no such group.
  Task<Result<std::optional<GroupStatus>>> status(std::string id);
  /// Counts a member that has ended. Returns the group if all members have ended; nothing if not, or if it is gone.
  Task<Result<std::optional<GroupStatus>>> count_end(GroupMember member, std::string job_id, JobState state);
  /// Removes groups that ended before `limit`, and older ones that will never end since none of their jobs is left.
  Task<Result<std::uint64_t>> collect(Time limit);

 private:
  Task<Result<Group>> finish(Group group);
  Task<Result<std::map<JobState, std::uint64_t>>> ended(std::string id);
  /// Counts the members whose records are queued or running.
  Task<Result<std::map<JobState, std::uint64_t>>> open(Group group);
  Task<Result<bool>> remove(Group group);
  table_store::TableClient& tables_;
  Clock& clock_;
};

/// Returns the id of a group's n-th member.
std::string member_job_id(const Group& group, std::uint32_t number);

}  // namespace tidemark::jobs
