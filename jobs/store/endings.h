// The consequences of the end of a job: it is counted for its group, callbacks report it (onEnd of the job, and of the
// group if it was the last), and after a success the following job begins (then). A callback is a job like any other.
// The id of either is derived from the job that ended and from the time of its end, and the message has the same key,
// so that any process that finds an unreported end may report it again: only one job results. The order that makes this
// safe:
//   record says how the job ended  ->  end counted  ->  callback and next job put  ->  the job's message removed
// After a crash in between the message is delivered again, and its worker does the rest. A job that is sent back from
// poison ends anew, and reports anew; its group counts it once. References must outlive the calls.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "jobs/store/groups.h"
#include "queue_service/client/queue_client.h"

namespace tidemark::jobs {

class Endings {
 public:
  Endings(table_store::TableClient& tables, queue_service::QueueClient& queues, Clock& clock)
      : groups_(tables, clock), queues_(queues) {}

  /// Counts the end and returns the messages to put. `spec`: that of the delivery, or the record's own.
  Task<Result<std::vector<queue_service::FollowUp>>> follow_ups(JobRecord ended, JobSpec spec);
  /// Counts the end and puts the messages. Succeeds for a job that has nothing to report.
  Task<Result<void>> tell(JobRecord ended, JobSpec spec);
  /// Puts the messages that have not been put yet, one by one.
  Task<Result<void>> put(std::vector<queue_service::FollowUp> messages);

 private:
  /// Adds the message of a job. Its queue must exist when the message is put, in the step that ends another message.
  Task<Result<void>> add(std::vector<queue_service::FollowUp>& out, std::string id, JobSpec spec);
  Groups groups_;
  queue_service::QueueClient& queues_;
};

/// Returns the message of a job, without a delay and an idempotency key.
queue_service::PutRequest message_of(std::string_view job_id, const JobSpec& spec);
/// Returns a callback job that is tried for a long time, because people have to learn of the end.
JobSpec telling_job(const CallbackEndpoint& endpoint, const nlohmann::json& body, Priority priority);
/// Tells whether an end has to be reported or counted at all.
inline bool has_followers(const JobSpec& spec) { return spec.on_end || spec.group || !spec.then.empty(); }
/// Returns the id of the job that reports an end.
std::string ending_job_id(const JobRecord& ended);
std::string ending_job_id(const Group& finished);
/// Returns the id of the job that follows a success (then).
std::string following_job_id(const JobRecord& succeeded);

}  // namespace tidemark::jobs
