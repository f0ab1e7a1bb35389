#include "jobs/poison.h"

#include <nlohmann/json.hpp>

#include "common/base/encoding.h"

namespace tidemark::jobs {
namespace {

using nlohmann::json;
using queue_service::Message;

std::string text_of(const json& object, const char* name) {
  auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t number_of(const json& object, const char* name) {
  auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

std::uint32_t small_number_of(const json& object, const char* name) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(number_of(object, name), 0, UINT32_MAX));
}

/// The message without what differs from one occurrence to the next: digits and whatever stands in quotes.
std::string shape_of(std::string_view message) {
  std::string out;
  char quote = 0;
  for (char c : message) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
      out += '*';
    } else if (c < '0' || c > '9') {
      out += c;
    } else if (out.empty() || out.back() != '#') {
      out += '#';
    }
  }
  return out;
}

}  // namespace

json to_json(const Attempt& attempt) {
  return {{"number", attempt.number},
          {"worker", attempt.worker},
          {"startedAt", to_iso8601(attempt.started_at)},
          {"durationMs", attempt.duration_ms},
          {"errorClass", attempt.error_class},
          {"code", attempt.code},
          {"message", attempt.message.substr(0, kMaxKeptErrorBytes)}};
}

Attempt attempt_from_json(const json& object) {
  Attempt attempt;
  if (!object.is_object()) return attempt;
  attempt.number = small_number_of(object, "number");
  attempt.worker = text_of(object, "worker");
  attempt.started_at = parse_iso8601(text_of(object, "startedAt")).value_or(Time{});
  attempt.duration_ms = number_of(object, "durationMs");
  attempt.error_class = text_of(object, "errorClass");
  attempt.code = text_of(object, "code");
  attempt.message = text_of(object, "message");
  return attempt;
}

std::string poison_annotation(const PoisonRecord& record) {
  json attempts = json::array();
  const auto kept = std::min(record.attempts.size(), kMaxKeptAttempts);
  for (auto i = record.attempts.size() - kept; i < record.attempts.size(); ++i) {
    attempts.push_back(to_json(record.attempts[i]));
  }
  json out = {{"jobId", record.job_id},
              {"reason", record.reason.substr(0, kMaxKeptErrorBytes)},
              {"fingerprint", record.fingerprint},
              {"queue", record.queue},
              {"redrives", record.redrives},
              {"attempts", std::move(attempts)}};
  if (record.moved_at) out["movedAt"] = to_iso8601(*record.moved_at);
  // Cutting a text may have left half a character at its end.
  return out.dump(-1, ' ', false, json::error_handler_t::ignore);
}

PoisonRecord poison_record_of(const Message& message) {
  PoisonRecord record;
  record.message_id = message.id;
  record.body = message.text;
  record.epoch = message.epoch;
  record.kind = "unknown";
  if (auto parsed = parse_job_message(message.text)) {
    record.kind = std::string(kind_name(parsed->spec));
    record.job_id = std::move(parsed->job_id);
  }
  auto story = json::parse(message.annotation, nullptr, false);
  if (!story.is_object()) return record;
  if (auto id = text_of(story, "jobId"); !id.empty()) record.job_id = std::move(id);
  record.reason = text_of(story, "reason");
  record.fingerprint = text_of(story, "fingerprint");
  record.queue = text_of(story, "queue");
  record.redrives = small_number_of(story, "redrives");
  record.moved_at = parse_iso8601(text_of(story, "movedAt"));
  if (auto attempts = story.find("attempts"); attempts != story.end() && attempts->is_array()) {
    for (const auto& attempt : *attempts) record.attempts.push_back(attempt_from_json(attempt));
  }
  return record;
}

std::string error_fingerprint(std::string_view kind, std::string_view code, std::string_view message) {
  std::string joined(kind);
  joined += '\n';
  joined += code;
  joined += '\n';
  joined += shape_of(message);
  return hex_encode(sha256(joined).substr(0, 8));
}

Task<Result<PoisonPage>> PoisonStore::list(std::uint32_t limit, std::string continuation) {
  auto task = queues_.list(std::string(kPoisonQueue), limit, std::move(continuation));
  auto page = co_await std::move(task);
  if (!page) co_return fail(std::move(page.error()));
  PoisonPage out;
  out.continuation = std::move(page->continuation);
  for (const auto& message : page->messages) out.records.push_back(poison_record_of(message));
  co_return out;
}

Task<Result<PoisonRecord>> PoisonStore::find(std::string message_id) {
  auto task = queues_.find(std::string(kPoisonQueue), std::move(message_id));
  auto message = co_await std::move(task);
  if (message.failed_with(ErrorCode::kMessageNotFound)) co_return fail(ErrorCode::kPoisonNotFound);
  if (!message) co_return fail(std::move(message.error()));
  if (!message->has_value()) co_return fail(ErrorCode::kPoisonNotFound);
  co_return poison_record_of(**message);
}

Task<Result<PoisonRecord>> PoisonStore::redrive(std::string message_id, std::optional<JobSpec> edited) {
  auto find_task = find(message_id);
  auto poison = co_await std::move(find_task);
  if (!poison) co_return fail(std::move(poison.error()));

  // The record is read before the message moves: a worker may take the message at once, and its claim must win over
  // the note that is written afterwards. A crash in between heals: the claim takes the poisoned record up.
  std::optional<JobRecord> record;
  if (!poison->job_id.empty()) {
    auto record_task = jobs_.find(poison->job_id);
    auto found = co_await std::move(record_task);
    if (!found) co_return fail(std::move(found.error()));
    record = std::move(*found);
  }
  std::optional<std::string> text;
  if (edited) text = job_message_text(poison->job_id, *edited);
  const json annotation = {{"jobId", poison->job_id}, {"redrives", poison->redrives + 1}};
  auto redrive_task = queues_.redrive(std::string(kPoisonQueue), message_id, std::string(kJobQueue), std::move(text),
                                      annotation.dump());
  auto redriven = co_await std::move(redrive_task);
  if (redriven.failed_with(ErrorCode::kMessageNotFound)) co_return fail(ErrorCode::kPoisonNotFound);
  if (!redriven) co_return fail(std::move(redriven.error()));
  poison->redrives += 1;
  if (record && record->message_id == message_id) {
    auto requeue_task = jobs_.requeue(std::move(*record), std::move(edited));
    auto requeued = co_await std::move(requeue_task);
    // The message is on its way, so the redrive has happened whatever became of the note.
    if (!requeued && requeued.error().code == ErrorCode::kCorruption) co_return fail(std::move(requeued.error()));
  }
  co_return std::move(*poison);
}

Task<Result<void>> PoisonStore::remove(std::string message_id) {
  auto task = queues_.remove(std::string(kPoisonQueue), std::move(message_id));
  auto removed = co_await std::move(task);
  if (removed.failed_with(ErrorCode::kMessageNotFound)) co_return fail(ErrorCode::kPoisonNotFound);
  if (!removed) co_return fail(std::move(removed.error()));
  co_return Result<void>{};
}

}  // namespace tidemark::jobs
