// What the end of a job brings about: it is counted for its group, callbacks tell of it (onEnd of the job, and of the
// group if that was its last), and after a success the job begins that was to follow (then). A callback is a job like
// any other. The id of either follows from the job that ended and from when that was, and the same key goes with its
// message, so that whoever finds the end untold may tell it again: one job comes of it. The order that makes this safe:
//   record says how the job ended  ->  end counted  ->  callback and next job put  ->  the job's message goes
// After a crash in between the message is delivered again, and its worker does the rest. A job that is sent back from
// poison ends anew, and tells anew; its group counts it once. References must outlive the calls.
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

  /// Counts the end and gives the messages to put. `spec`: of the delivery, or the record's own.
  Task<Result<std::vector<queue_service::FollowUp>>> follow_ups(JobRecord ended, JobSpec spec);
  /// Counts the end and puts the messages. Succeeds for a job that has nothing to tell.
  Task<Result<void>> tell(JobRecord ended, JobSpec spec);
  /// Puts those that are not there yet, one by one.
  Task<Result<void>> put(std::vector<queue_service::FollowUp> messages);

 private:
  /// Adds the message of a job. Its queue must be there when the message is put, together with what ends another.
  Task<Result<void>> add(std::vector<queue_service::FollowUp>& out, std::string id, JobSpec spec);
  Groups groups_;
  queue_service::QueueClient& queues_;
};

/// A callback that is sent for a long time, because people have to hear of it.
JobSpec telling_job(const CallbackEndpoint& endpoint, const nlohmann::json& body, Priority priority);
/// Whether an end has to be told or counted at all.
inline bool has_followers(const JobSpec& spec) { return spec.on_end || spec.group || !spec.then.empty(); }
/// The job that tells of an end.
std::string ending_job_id(const JobRecord& ended);
std::string ending_job_id(const Group& finished);
/// The job that follows a success (then).
std::string following_job_id(const JobRecord& succeeded);

}  // namespace tidemark::jobs
