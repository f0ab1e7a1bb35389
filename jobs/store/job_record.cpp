#include "jobs/store/job_record.h"

#include <nlohmann/json.hpp>

#include <cctype>
#include <cstdio>

#include "common/base/encoding.h"

namespace tidemark::jobs {
namespace {

using table_store::Entity;
using table_store::Property;

constexpr std::size_t kMaxErrorBytes = 2000;

std::string inverted_ticks(Time now) {
  char digits[17];
  const auto inverted = static_cast<unsigned long long>(INT64_MAX - now.time_since_epoch().count());
  std::snprintf(digits, sizeof digits, "%016llx", inverted);
  return digits;
}

/// Reads typed properties of an entity and remembers whether one had the wrong type.
class Reader {
 public:
  explicit Reader(const Entity& entity) : entity_(entity) {}
  [[nodiscard]] bool ok() const { return ok_; }

  std::string text(std::string_view name) {
    const auto* value = entity_.find(name);
    if (value == nullptr) return {};
    if (const auto* found = std::get_if<std::string>(value)) return *found;
    ok_ = false;
    return {};
  }
  /// SDKs may have written a small number as Int32.
  std::optional<std::uint64_t> number(std::string_view name) {
    const auto* value = entity_.find(name);
    if (value == nullptr) return std::nullopt;
    std::int64_t found = -1;
    if (const auto* wide = std::get_if<std::int64_t>(value)) found = *wide;
    if (const auto* narrow = std::get_if<std::int32_t>(value)) found = *narrow;
    if (found < 0) ok_ = false;
    return static_cast<std::uint64_t>(std::max<std::int64_t>(found, 0));
  }
  std::optional<Time> time(std::string_view name) {
    const auto* value = entity_.find(name);
    if (value == nullptr) return std::nullopt;
    if (const auto* found = std::get_if<Time>(value)) return *found;
    ok_ = false;
    return std::nullopt;
  }

 private:
  const Entity& entity_;
  bool ok_ = true;
};

/// At most `limit` bytes, not ending inside a character.
std::string clipped(const std::string& text, std::size_t limit) {
  if (text.size() <= limit) return text;
  auto end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

/// When the record of a job that asks for it may go.
std::optional<Time> keep_until(const JobRecord& record) {
  if (!record.finished_at || record.spec.find("\"keepHours\"") == std::string::npos) return std::nullopt;
  const auto spec = nlohmann::json::parse(record.spec, nullptr, false);
  const auto hours = spec.is_object() ? spec.find("keepHours") : spec.end();
  if (!spec.is_object() || hours == spec.end() || !hours->is_number_unsigned()) return std::nullopt;
  return *record.finished_at + std::chrono::hours(std::min<std::uint64_t>(hours->get<std::uint64_t>(), kMaxKeepHours));
}

std::int64_t stored(std::uint64_t number) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(number, INT64_MAX));
}

}  // namespace

std::string_view state_name(JobState state) {
  switch (state) {
    case JobState::kQueued:
      return "queued";
    case JobState::kRunning:
      return "running";
    case JobState::kSucceeded:
      return "succeeded";
    case JobState::kPoisoned:
      return "poisoned";
    case JobState::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

std::optional<JobState> state_from_name(std::string_view name) {
  for (auto state :
       {JobState::kQueued, JobState::kRunning, JobState::kSucceeded, JobState::kPoisoned, JobState::kCancelled}) {
    if (state_name(state) == name) return state;
  }
  return std::nullopt;
}

std::vector<Property> record_properties(const JobRecord& record) {
  std::vector<Property> out;
  out.push_back({"State", std::string(state_name(record.state))});
  out.push_back({"Kind", record.kind});
  out.push_back({"Spec", record.spec});
  out.push_back({"MessageId", record.message_id});
  out.push_back({"Epoch", stored(record.epoch)});
  out.push_back({"Attempts", static_cast<std::int32_t>(std::min<std::uint32_t>(record.attempts, INT32_MAX))});
  out.push_back({"Done", stored(record.done)});
  out.push_back({"Skipped", stored(record.skipped)});
  if (record.total) out.push_back({"Total", stored(*record.total)});
  out.push_back({"Phase", record.phase});
  out.push_back({"Error", clipped(record.error, kMaxErrorBytes)});
  out.push_back({"SubmittedAt", record.submitted_at});
  if (record.started_at) out.push_back({"StartedAt", *record.started_at});
  if (record.finished_at) out.push_back({"FinishedAt", *record.finished_at});
  if (const auto until = keep_until(record)) out.push_back({"KeepUntil", *until});
  out.push_back({"Worker", record.worker});
  if (record.claimed_at) out.push_back({"ClaimedAt", *record.claimed_at});
  if (!record.history.empty()) out.push_back({"History", history_text(record.history)});
  if (!record.result.empty()) out.push_back({"Result", record.result});
  if (!record.skips.empty()) out.push_back({"Skips", record.skips});
  if (record.not_before) out.push_back({"NotBefore", *record.not_before});
  return out;
}

Result<JobRecord> record_from_entity(const Entity& entity) {
  Reader in(entity);
  JobRecord record;
  record.id = entity.row_key;
  record.version = entity.version;
  auto state = state_from_name(in.text("State"));
  record.kind = in.text("Kind");
  record.spec = in.text("Spec");
  record.message_id = in.text("MessageId");
  record.epoch = in.number("Epoch").value_or(0);
  record.attempts = static_cast<std::uint32_t>(std::min<std::uint64_t>(in.number("Attempts").value_or(0), UINT32_MAX));
  record.done = in.number("Done").value_or(0);
  record.skipped = in.number("Skipped").value_or(0);
  record.total = in.number("Total");
  record.phase = in.text("Phase");
  record.error = in.text("Error");
  record.submitted_at = in.time("SubmittedAt").value_or(Time{});
  record.started_at = in.time("StartedAt");
  record.finished_at = in.time("FinishedAt");
  record.worker = in.text("Worker");
  record.claimed_at = in.time("ClaimedAt");
  record.history = parse_history(in.text("History"));
  record.result = in.text("Result");
  record.skips = in.text("Skips");
  record.not_before = in.time("NotBefore");
  if (!in.ok() || !state) {
    return fail(ErrorCode::kCorruption, "The record of job " + entity.row_key + " does not have the expected form.");
  }
  record.state = *state;
  return record;
}

std::string_view queue_of(Priority priority) {
  switch (priority) {
    case Priority::kHigh:
      return kHighQueue;
    case Priority::kNormal:
      return kJobQueue;
    case Priority::kLow:
      return kLowQueue;
  }
  return kJobQueue;
}

bool is_job_queue(std::string_view queue) { return queue == kHighQueue || queue == kJobQueue || queue == kLowQueue; }

std::string new_job_id(Time now, Random& random) {
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08llx", static_cast<unsigned long long>(random.next() & 0xFFFFFFFFU));
  return inverted_ticks(now) + "-" + digits;
}

std::string job_id_of_message(Time inserted, std::string_view message_id) {
  // All 128 bits of the digest's first half: two messages of one tick must never be taken for one job.
  return inverted_ticks(inserted) + "-" + hex_encode(sha256(message_id).substr(0, 16));
}

bool is_job_id(std::string_view text) {
  if (text.size() != 25 && text.size() != 49) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (i == 16 ? c != '-' : !hex) return false;
  }
  return true;
}

bool transition_allowed(JobState from, std::uint64_t record_epoch, JobState to, std::uint64_t epoch) {
  const bool person = epoch == 0;
  switch (from) {
    case JobState::kQueued:
      // A person cancels; everything else is done by a delivery that the record has not seen overtaken. Queued again:
      // a delivery that failed before it could claim the record notes why.
      return person ? to == JobState::kCancelled : epoch >= record_epoch && to != JobState::kCancelled;
    case JobState::kRunning:
      return person ? to == JobState::kCancelled : epoch >= record_epoch && to != JobState::kCancelled;
    case JobState::kPoisoned:
      return person ? to == JobState::kQueued : epoch > record_epoch && to == JobState::kRunning;
    case JobState::kSucceeded:
    case JobState::kCancelled:
      return false;
  }
  return false;
}

}  // namespace tidemark::jobs
