#include "workers/runtime/message_story.h"

#include "common/base/json.h"
#include "jobs/store/fields.h"

namespace tidemark::workers {
namespace {
using nlohmann::json;

// clang-format off
constexpr std::tuple kFields{
    jobs::Field{"jobId", &MessageStory::job_id},
    jobs::Field{"stalls", &MessageStory::stalls, jobs::kSparse},
    jobs::Field{"advanced", &MessageStory::advanced, jobs::kSparse},
    jobs::Field{"effects", &MessageStory::effects, jobs::kSparse},
    jobs::Field{"redrives", &MessageStory::redrives, jobs::kSparse},
    jobs::Field{"refused", &MessageStory::refused, jobs::kSparse},
    jobs::Field{"givingUp", &MessageStory::giving_up, jobs::kSparse}};
// clang-format on

}  // namespace

MessageStory parse_story(std::string_view annotation) {
  MessageStory story;
  auto parsed = json_or_discarded(annotation);
  if (!parsed.is_object()) return story;
  jobs::read_members(parsed, story, kFields);
  if (auto point = parsed.find("checkpoint"); point != parsed.end() && point->is_object()) story.checkpoint = *point;
  if (auto list = parsed.find("attempts"); list != parsed.end()) story.attempts = jobs::attempts_from_json(*list);
  return story;
}

std::string story_text(const MessageStory& story) {
  json out = {{"attempts", jobs::kept_json(story.attempts)}};
  jobs::add_members(out, story, kFields);
  if (story.checkpoint.is_object()) out["checkpoint"] = story.checkpoint;
  return out.dump(-1, ' ', false, json::error_handler_t::ignore);
}

std::uint32_t attempts_in_vain(const MessageStory& story, std::uint32_t dequeue_count) {
  if (story.advanced == 0) return dequeue_count;
  return dequeue_count > story.advanced ? dequeue_count - story.advanced : 1;
}

std::string giving_up_annotation(const jobs::PoisonRecord& record) {
  auto out = json::parse(jobs::poison_annotation(record));
  out["givingUp"] = true;
  return out.dump(-1, ' ', false, json::error_handler_t::ignore);
}

}  // namespace tidemark::workers
