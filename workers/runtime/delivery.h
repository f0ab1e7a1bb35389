// What a message says of its job, for every way of working on it. Pure.
#pragma once
#include <optional>
#include <string>

#include "jobs/store/job_store.h"
#include "workers/runtime/message_story.h"

namespace tidemark::workers {

/// The id in the text, else the one that an earlier delivery noted, else one made of the message's own.
std::string job_id_of(const queue_service::Message& message, const Result<jobs::JobMessage>& parsed,
                      const MessageStory& story);
/// `spec`: nothing for a message that is no job. `text`: of the spec, if it is known.
jobs::Delivery delivery_of(const queue_service::Message& message, std::string job_id,
                           const std::optional<jobs::JobSpec>& spec, std::string worker, std::string text = {});

/// An attempt at this delivery, from `started` until now. `outcome` as in jobs::Attempt.
jobs::Attempt attempt_of(const queue_service::Message& message, std::string worker, Time started, Time now,
                         std::string outcome);

}  // namespace tidemark::workers
