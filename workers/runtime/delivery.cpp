#include "workers/runtime/delivery.h"

#include "common/base/encoding.h"

namespace tidemark::workers {
namespace {

constexpr std::size_t kMaxUnreadableBytes = 8000;

/// For the record of a message that is no job: its beginning, if it is text at all.
std::string shown(const std::string& text) {
  if (text.size() <= kMaxUnreadableBytes && is_valid_utf8(text)) return text;
  return "";
}

}  // namespace

std::string job_id_of(const queue_service::Message& message, const Result<jobs::JobMessage>& parsed,
                      const MessageStory& story) {
  if (parsed && !parsed->job_id.empty() && jobs::is_job_id(parsed->job_id)) return parsed->job_id;
  const bool noted = (!parsed || parsed->job_id.empty()) && jobs::is_job_id(story.job_id);
  return noted ? story.job_id : jobs::job_id_of_message(message.inserted, message.id);
}

jobs::Delivery delivery_of(const queue_service::Message& message, std::string job_id,
                           const std::optional<jobs::JobSpec>& spec, std::string worker, std::string text) {
  jobs::Delivery delivery;
  delivery.job_id = std::move(job_id);
  delivery.kind = spec ? std::string(jobs::kind_name(*spec)) : "unknown";
  if (text.empty()) text = spec ? jobs::canonical_text(*spec) : shown(message.text);
  delivery.spec = std::move(text);
  delivery.message_id = message.id;
  delivery.message_inserted = message.inserted;
  delivery.epoch = message.epoch;
  delivery.attempt = message.dequeue_count;
  delivery.worker = std::move(worker);
  if (spec) delivery.not_before = spec->not_before;
  return delivery;
}

jobs::Attempt attempt_of(const queue_service::Message& message, std::string worker, Time started, Time now,
                         std::string outcome) {
  jobs::Attempt attempt;
  attempt.number = message.dequeue_count;
  attempt.worker = std::move(worker);
  attempt.started_at = started;
  attempt.duration_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now - started).count();
  attempt.outcome = std::move(outcome);
  return attempt;
}

}  // namespace tidemark::workers
