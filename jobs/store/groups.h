// Groups: jobs that were submitted as one, whose end is told once. In table TidemarkJobs:
//   PartitionKey 'groups', RowKey id        the group: Members, Fingerprint, SubmittedAt, FinishedAt, OnEnd
//   PartitionKey 'group-ID', RowKey number  a member that has ended: JobId, State, EndedAt
// A member's row is written once, in one transaction with a counter in the ledger of operation 'group-ID', so that a
// member is counted once however often its end is reported. Whoever finds that the counters have reached the number of
// members knows that the group has ended; a member's message goes only after that was looked at, so somebody always
// finds it. References must outlive the calls, which fail with the codes of the table client.
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

/// How far a group is.
struct GroupStatus {
  Group group;
  std::map<JobState, std::uint64_t> states;  // of all its members
};

class Groups {
 public:
  Groups(table_store::TableClient& tables, Clock& clock) : tables_(tables), clock_(clock) {}

  /// The group, new or, if it was created from the same jobs before, as it is. kIdempotencyKeyReused.
  Task<Result<Group>> create(Group group);
  Task<Result<std::optional<Group>>> find(std::string id);
  /// Nothing if there is no such group.
  Task<Result<std::optional<GroupStatus>>> status(std::string id);
  /// Counts a member that has ended. The group if by now all have; nothing if not, or if it is gone.
  Task<Result<std::optional<GroupStatus>>> count_end(GroupMember member, std::string job_id, JobState state);
  /// Removes groups that ended before `limit`, or are older and will never end since none of their jobs is left.
  Task<Result<std::uint64_t>> collect(Time limit);

 private:
  Task<Result<Group>> finish(Group group);
  Task<Result<std::map<JobState, std::uint64_t>>> ended(std::string id);
  /// Members whose records say queued or running.
  Task<Result<std::map<JobState, std::uint64_t>>> open(Group group);
  Task<Result<bool>> remove(Group group);
  table_store::TableClient& tables_;
  Clock& clock_;
};

/// The id of a group's n-th member.
std::string member_job_id(const Group& group, std::uint32_t number);

}  // namespace tidemark::jobs
