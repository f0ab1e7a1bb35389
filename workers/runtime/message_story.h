// What a job's message carries in its annotation between deliveries. Pure.
//   {"jobId":I,"checkpoint":{...},"attempts":[...],"stalls":N,"advanced":N,"effects":N,"redrives":N}
//       while it is a job (attempts: poison.h)
//   a poison annotation (poison.h) with "givingUp":true
//       once it was decided to give it up
// The second form is written before the record says poisoned and before the message moves, so that whoever gets the
// message after a crash in between finishes the move and runs nothing.
#pragma once
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "jobs/poison/poison.h"

namespace tidemark::workers {

struct MessageStory {
  std::string job_id;
  nlohmann::json checkpoint;  // the job's own; null if there is none
  std::vector<jobs::Attempt> attempts;
  std::uint32_t stalls = 0;    // uncounted failures in a row
  std::uint32_t advanced = 0;  // the last delivery (its dequeue count) that got further than those before it
  std::uint64_t effects = 0;   // of the work in the ledger (kDone), what `advanced` speaks of
  std::uint32_t redrives = 0;
  bool giving_up = false;
};

/// Deliveries in a row, this one included, of which none got further than those before: what maxAttempts limits. A
/// large job may outlive any number of workers as long as each of them brings it on.
std::uint32_t attempts_in_vain(const MessageStory& story, std::uint32_t dequeue_count);

/// Tolerant: what cannot be read is as if it were absent.
MessageStory parse_story(std::string_view annotation);
std::string story_text(const MessageStory& story);
std::string giving_up_annotation(const jobs::PoisonRecord& record);

}  // namespace tidemark::workers
