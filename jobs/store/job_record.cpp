#include "jobs/store/job_record.h"

#include <nlohmann/json.hpp>

#include <cctype>
#include <cstdio>

#include "common/base/encoding.h"
#include "common/base/json.h"
#include "common/base/text.h"
#include "jobs/spec/names.h"
#include "jobs/store/fields.h"
#include "jobs/store/rows.h"

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

constexpr std::tuple kRecordFields{
    Field{"Kind", &JobRecord::kind},
    Field{"Spec", &JobRecord::spec},
    Field{"Queue", &JobRecord::queue},
    Field{"Accounts", &JobRecord::accounts, kSparse},
    Field{"MessageId", &JobRecord::message_id},
    Field{"Receipt", &JobRecord::receipt, kSparse},
    Field{"Epoch", &JobRecord::epoch},
    Field{"EditedEpoch", &JobRecord::edited_epoch, kSparse},
    Field{"Attempts", &JobRecord::attempts},
    Field{"Done", &JobRecord::done},
    Field{"DoneBefore", &JobRecord::done_before, kSparse},
    Field{"Skipped", &JobRecord::skipped},
    Field{"Total", &JobRecord::total},
    Field{"Phase", &JobRecord::phase},
    Field{"Error", &JobRecord::error},
    Field{"SubmittedAt", &JobRecord::submitted_at},
    Field{"StartedAt", &JobRecord::started_at},
    Field{"FinishedAt", &JobRecord::finished_at},
    Field{"Worker", &JobRecord::worker},
    Field{"ClaimedAt", &JobRecord::claimed_at},
    Field{"Result", &JobRecord::result, kSparse},
    Field{"Skips", &JobRecord::skips, kSparse},
    Field{"Checkpoint", &JobRecord::checkpoint, kSparse},
    Field{"Part", &JobRecord::part, kSparse},
    Field{"EndSteps", &JobRecord::end_steps, kSparse},
    Field{"EndEpoch", &JobRecord::end_epoch, kSparse},
    Field{"NotBefore", &JobRecord::not_before},
};

/// Returns when the record of a job that sets keepHours may be removed.
std::optional<Time> keep_until(const JobRecord& record) {
  if (!record.finished_at || record.spec.find("\"keepHours\"") == std::string::npos) return std::nullopt;
  const auto spec = json_or_discarded(record.spec);
  const auto hours = spec.is_object() ? spec.find("keepHours") : spec.end();
  if (!spec.is_object() || hours == spec.end() || !hours->is_number_unsigned()) return std::nullopt;
  return *record.finished_at + std::chrono::hours(std::min<std::uint64_t>(hours->get<std::uint64_t>(), kMaxKeepHours));
}

}  // namespace

std::string_view state_name(JobState state) { return name_in(kJobStates, state); }
std::optional<JobState> state_from_name(std::string_view name) { return value_in(kJobStates, name); }

std::vector<Property> record_properties(JobRecord record) {
  record.error = beginning_of(record.error, kMaxErrorBytes);
  std::vector<Property> out{{"State", std::string(state_name(record.state))}};
  add_properties(out, record, kRecordFields);
  if (const auto until = keep_until(record)) out.push_back({"KeepUntil", *until});
  if (!record.history.empty()) out.push_back({"History", history_text(record.history)});
  return out;
}

Result<JobRecord> record_from_entity(const Entity& entity) {
  JobRecord record;
  record.id = entity.row_key;
  record.version = entity.version;
  const auto state = state_from_name(property_or<std::string>(entity, "State"));
  const auto* history = entity.find("History");
  const bool odd_history = history != nullptr && !std::holds_alternative<std::string>(*history);
  if (!state || odd_history || !read_properties(entity, record, kRecordFields)) {
    return fail(ErrorCode::kCorruption, "The record of job " + entity.row_key + " does not have the expected form.");
  }
  record.state = *state;
  if (history != nullptr) record.history = parse_history(std::get<std::string>(*history));
  return record;
}

std::vector<std::string> ledger_accounts(const JobRecord& record) {
  std::vector<std::string> out;
  auto left = std::string_view(record.accounts);
  do {
    out.emplace_back(take_item(left));
  } while (!left.empty());
  return out;
}

std::vector<std::string> standing_queues() {
  return {std::string(kHighQueue), std::string(kJobQueue), std::string(kLowQueue), std::string(kPoisonQueue)};
}

std::vector<std::string> possible_queues(const JobRecord& record) {
  auto queues = standing_queues();
  // A record whose message moves to such a queue names it before; until then the message is in one of the others.
  if (record.queue == kDefaultQueue) return queues;
  for (auto& queue : queues_named(record.queue)) queues.push_back(std::move(queue));
  return queues;
}

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
    case JobState::kRunning:
      // A person cancels, and so does the delivery of a transaction that does not happen; a delivery makes all other
      // changes, unless the record has seen a later one. Queued again: a delivery that failed before it could claim
      // the record notes the reason.
      if (person) return to == JobState::kCancelled;
      return epoch >= record_epoch && (to != JobState::kCancelled || from == JobState::kRunning);
    case JobState::kPoisoned:
      return person ? to == JobState::kQueued : epoch > record_epoch && to == JobState::kRunning;
    case JobState::kSucceeded:
    case JobState::kCancelled:
      return false;
  }
  return false;
}

}  // namespace tidemark::jobs
