#include "jobs/delivery/message_story.h"

#include "common/base/encoding.h"
#include "common/base/json.h"
#include "jobs/store/fields.h"

namespace tidemark::jobs {
namespace {
using nlohmann::json;

// clang-format off
constexpr std::tuple kFields{
    Field{"jobId", &MessageStory::job_id},
    Field{"stalls", &MessageStory::stalls, kSparse},
    Field{"advanced", &MessageStory::advanced, kSparse},
    Field{"effects", &MessageStory::effects, kSparse},
    Field{"redrives", &MessageStory::redrives, kSparse},
    Field{"editedEpoch", &MessageStory::edited_epoch, kSparse},
    Field{"refused", &MessageStory::refused, kSparse},
    Field{"givingUp", &MessageStory::giving_up, kSparse}};
// clang-format on

constexpr std::size_t kMaxUnreadableBytes = 8000;

/// Text for the record of a message that is no job: its beginning, if it is text at all.
std::string shown(const std::string& text) {
  if (text.size() <= kMaxUnreadableBytes && is_valid_utf8(text)) return text;
  return "";
}

}  // namespace

MessageStory parse_story(std::string_view annotation) {
  MessageStory story;
  auto parsed = json_or_discarded(annotation);
  if (!parsed.is_object()) return story;
  read_members(parsed, story, kFields);
  if (auto point = parsed.find("checkpoint"); point != parsed.end() && point->is_object()) story.checkpoint = *point;
  if (auto list = parsed.find("attempts"); list != parsed.end()) story.attempts = attempts_from_json(*list);
  return story;
}

std::string story_text(const MessageStory& story) {
  json out = {{"attempts", kept_json(story.attempts)}};
  add_members(out, story, kFields);
  if (story.checkpoint.is_object()) out["checkpoint"] = story.checkpoint;
  return out.dump(-1, ' ', false, json::error_handler_t::ignore);
}

std::uint32_t attempts_in_vain(const MessageStory& story, std::uint32_t dequeue_count) {
  if (story.advanced == 0) return dequeue_count;
  return dequeue_count > story.advanced ? dequeue_count - story.advanced : 1;
}

std::string giving_up_annotation(const PoisonRecord& record) {
  auto out = json::parse(poison_annotation(record));
  out["givingUp"] = true;
  return out.dump(-1, ' ', false, json::error_handler_t::ignore);
}

std::string job_id_of(const queue_service::Message& message, const Result<JobMessage>& parsed,
                      const MessageStory& story) {
  if (parsed && !parsed->job_id.empty()) return parsed->job_id;
  if (is_job_id(story.job_id)) return story.job_id;
  auto named = parsed ? std::string() : job_id_in(message.text);
  return named.empty() ? job_id_of_message(message.inserted, message.id) : named;
}

Delivery delivery_of(const queue_service::Message& message, std::string job_id, const std::optional<JobSpec>& spec,
                     std::string worker, std::string text) {
  Delivery delivery;
  delivery.job_id = std::move(job_id);
  delivery.kind = spec ? std::string(kind_name(*spec)) : "unknown";
  if (text.empty()) text = spec ? canonical_text(*spec) : shown(message.text);
  delivery.spec = std::move(text);
  delivery.message_id = message.id;
  delivery.message_inserted = message.inserted;
  delivery.epoch = message.epoch;
  delivery.attempt = message.dequeue_count;
  delivery.worker = std::move(worker);
  if (spec) delivery.not_before = spec->not_before;
  return delivery;
}

Attempt attempt_of(const queue_service::Message& message, std::string worker, Time started, Time now,
                   std::string outcome) {
  Attempt attempt;
  attempt.number = message.dequeue_count;
  attempt.worker = std::move(worker);
  attempt.started_at = started;
  attempt.duration_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now - started).count();
  attempt.outcome = std::move(outcome);
  return attempt;
}

}  // namespace tidemark::jobs
