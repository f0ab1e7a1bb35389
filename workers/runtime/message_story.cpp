#include "workers/runtime/message_story.h"

namespace tidemark::workers {
namespace {
using nlohmann::json;

template <class T>
T number_of(const json& object, const char* name) {
  auto found = object.find(name);
  if (found == object.end() || !found->is_number_integer()) return 0;
  constexpr std::int64_t kMost = sizeof(T) < sizeof(std::int64_t) ? std::numeric_limits<std::uint32_t>::max()
                                                                  : std::numeric_limits<std::int64_t>::max();
  return static_cast<T>(std::clamp<std::int64_t>(found->get<std::int64_t>(), 0, kMost));
}
}  // namespace

MessageStory parse_story(std::string_view annotation) {
  MessageStory story;
  auto parsed = json::parse(annotation, nullptr, false);
  if (!parsed.is_object()) return story;
  if (auto id = parsed.find("jobId"); id != parsed.end() && id->is_string()) story.job_id = id->get<std::string>();
  if (auto point = parsed.find("checkpoint"); point != parsed.end() && point->is_object()) story.checkpoint = *point;
  if (auto list = parsed.find("attempts"); list != parsed.end() && list->is_array()) {
    for (const auto& attempt : *list) story.attempts.push_back(jobs::attempt_from_json(attempt));
  }
  story.stalls = number_of<std::uint32_t>(parsed, "stalls");
  story.advanced = number_of<std::uint32_t>(parsed, "advanced");
  story.effects = number_of<std::uint64_t>(parsed, "effects");
  story.redrives = number_of<std::uint32_t>(parsed, "redrives");
  auto giving_up = parsed.find("givingUp");
  story.giving_up = giving_up != parsed.end() && giving_up->is_boolean() && giving_up->get<bool>();
  return story;
}

std::string story_text(const MessageStory& story) {
  json attempts = json::array();
  const auto kept = std::min(story.attempts.size(), jobs::kMaxKeptAttempts);
  for (auto i = story.attempts.size() - kept; i < story.attempts.size(); ++i) {
    attempts.push_back(jobs::to_json(story.attempts[i]));
  }
  json out = {{"jobId", story.job_id}, {"attempts", std::move(attempts)}};
  if (story.checkpoint.is_object()) out["checkpoint"] = story.checkpoint;
  if (story.stalls > 0) out["stalls"] = story.stalls;
  if (story.advanced > 0) out["advanced"] = story.advanced;
  if (story.effects > 0) out["effects"] = story.effects;
  if (story.redrives > 0) out["redrives"] = story.redrives;
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
