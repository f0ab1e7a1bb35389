// The facts that a message holds about its job, and that its annotation keeps between deliveries. Pure.
//   {"jobId":I,"checkpoint":{...},"attempts":[...],"stalls":N,"advanced":N,"effects":N,"redrives":N,
//    "editedEpoch":N,"refused":true}
//       while it is a job (attempts: poison.h)
//   a poison annotation (poison.h) with "givingUp":true
//       once it was decided to give the job up
// The second form is written before the record says poisoned and before the message moves. After a crash in between,
// the delivery that gets the message finishes the move and runs nothing.
#pragma once
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "jobs/poison/poison.h"

namespace tidemark::jobs {

struct MessageStory {
  std::string job_id;
  nlohmann::json checkpoint;  // the job's own; null if there is none
  std::vector<Attempt> attempts;
  std::uint32_t stalls = 0;    // uncounted failures in a row
  std::uint32_t advanced = 0;  // the last delivery (its dequeue count) that got further than those before it
  std::uint64_t effects = 0;   // the work in the ledger (kDone) at the time of `advanced`
  std::uint32_t redrives = 0;
  std::uint64_t edited_epoch = 0;  // the last delivery before the text was edited
  bool refused = false;            // the last delivery ended because a store had too much to do
  bool giving_up = false;
};

/// The number of deliveries in a row, including this one, that made no progress; maxAttempts limits it. A large job may
/// outlive any number of workers as long as each of them makes progress.
std::uint32_t attempts_in_vain(const MessageStory& story, std::uint32_t dequeue_count);

/// Tolerant: a part that cannot be read counts as absent.
MessageStory parse_story(std::string_view annotation);
std::string story_text(const MessageStory& story);
std::string giving_up_annotation(const PoisonRecord& record);

/// The id in the text, or else the one that an earlier delivery noted, or else one derived from the message's id. If
/// the text is no valid job, the noted id comes first.
std::string job_id_of(const queue_service::Message& message, const Result<JobMessage>& parsed,
                      const MessageStory& story);
/// `spec` is absent if the message is not a job; `text` is the text of the spec, if it is known.
Delivery delivery_of(const queue_service::Message& message, std::string job_id, const std::optional<JobSpec>& spec,
                     std::string worker, std::string text = {});

/// An attempt at this delivery, from `started` until now. `outcome` as in Attempt.
Attempt attempt_of(const queue_service::Message& message, std::string worker, Time started, Time now,
                   std::string outcome);

}  // namespace tidemark::jobs
