#include "jobs/poison/poison.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "common/base/encoding.h"
#include "common/base/json.h"
#include "common/base/numbers.h"
#include "common/base/side_by_side.h"
#include "common/base/text.h"
#include "jobs/kinds/reach.h"
#include "jobs/store/end_steps.h"
#include "jobs/store/rows.h"

namespace tidemark::jobs {
namespace {

using nlohmann::json;
using queue_service::Message;

constexpr int kPagesPerList = 20;  // pages of messages that are looked at for a page of matching ones
constexpr std::uint32_t kGroupingPage = 1000;
constexpr std::size_t kGroupSamples = 5;
constexpr int kRaces = 5;
constexpr const char* kUnknownKind = "unknown";  // the kind of a message that is no job

/// Returns the message without the parts that differ between occurrences: digits and text in quotes.
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

void add_to_group(PoisonGroup& group, PoisonRecord record) {
  if (group.count++ == 0) {
    group.fingerprint = std::move(record.fingerprint);
    group.kind = std::move(record.kind);
    group.source = std::move(record.source);
    group.reason = std::move(record.reason);
  }
  if (record.moved_at) {
    group.first_moved_at = std::min(group.first_moved_at.value_or(*record.moved_at), *record.moved_at);
    group.last_moved_at = std::max(group.last_moved_at.value_or(*record.moved_at), *record.moved_at);
  }
  if (group.samples.size() < kGroupSamples) group.samples.push_back(std::move(record.message_id));
}

/// Saves parsing most messages that do not match: a kind and a table are in the text as they are, unless the text is in
/// Base64 or has escapes.
bool may_match(const PoisonFilter& filter, const Message& message) {
  if (message.annotation.find(filter.fingerprint) == std::string::npos) return false;
  const bool plain = message.text.find('{') != std::string::npos && message.text.find('\\') == std::string::npos;
  if (!plain) return true;
  if (filter.kind != kUnknownKind && message.text.find(filter.kind) == std::string::npos) return false;
  return filter.source.empty() || to_lower_ascii(message.text).find(to_lower_ascii(filter.source)) != std::string::npos;
}

/// Adds matching messages until there are `limit` records; returns how many messages were looked at.
std::size_t take_matching(const std::vector<Message>& messages, const std::vector<PoisonFilter>& which,
                          std::size_t limit, std::vector<PoisonRecord>& records) {
  std::size_t taken = 0;
  while (taken < messages.size() && records.size() < limit) {
    const auto& message = messages[taken++];
    if (std::ranges::none_of(which, [&](const auto& each) { return may_match(each, message); })) continue;
    auto record = poison_record_of(message);
    if (std::ranges::any_of(which, [&](const auto& each) { return matches(each, record); })) {
      records.push_back(std::move(record));
    }
  }
  return taken;
}

/// The queue may have been deleted; the next job that is given up makes it again.
template <class T>
Result<T> or_not_found(Result<T> outcome) {
  const bool nothing =
      outcome.failed_with(ErrorCode::kMessageNotFound) || outcome.failed_with(ErrorCode::kQueueNotFound);
  if (nothing) return fail(ErrorCode::kPoisonNotFound);
  return outcome;
}

/// Returns the queue that the job names; otherwise the one that it came from, unless its text was replaced.
std::string way_back(const PoisonRecord& poison, const std::optional<JobSpec>& edited) {
  auto text = parse_job_message(poison.body);
  const auto* spec = edited ? &*edited : text ? &text->spec : nullptr;
  if (spec != nullptr && std::holds_alternative<OwnSpec>(spec->work)) return queue_of(*spec);
  const auto from = name_of_queue(poison.queue);
  const bool by_text = spec != nullptr && (!spec->queue.empty() || (edited && from == kDefaultQueue));
  if (by_text) return queue_of(*spec);
  return from.empty() ? std::string(kJobQueue) : poison.queue;
}

Task<Result<queue_service::MessagePage>> page_of(queue_service::QueueClient& queues, std::string queue,
                                                 std::uint32_t limit, std::string continuation) {
  auto page = co_await queues.list(std::move(queue), limit, std::move(continuation));
  if (page.failed_with(ErrorCode::kQueueNotFound)) co_return queue_service::MessagePage{};
  co_return page;
}

PoisonRecord record_in_own_queue(const Message& message) {
  auto record = poison_record_of(message);
  if (!record.moved_at) record.moved_at = message.inserted;
  return record;
}

}  // namespace

std::string poison_annotation(const PoisonRecord& record) {
  json out = {{"attempts", kept_json(record.attempts)}};
  add_members(out, record, kPoisonFields);
  out["reason"] = beginning_of(record.reason, kMaxKeptErrorBytes);
  return out.dump(-1, ' ', false, json::error_handler_t::ignore);
}

PoisonRecord poison_record_of(const Message& message) {
  PoisonRecord record;
  record.message_id = message.id;
  record.body = message.text;
  record.original = message.original;
  record.epoch = message.epoch;
  record.etag = etag_of(message);
  record.kind = kUnknownKind;
  if (auto parsed = parse_job_message(message.text)) {
    record.kind = std::string(kind_name(parsed->spec));
    record.source = reach_of(parsed->spec).from.table;
    record.job_id = std::move(parsed->job_id);
  }
  auto story = json_or_discarded(message.annotation);
  if (!story.is_object()) return record;
  const auto id = std::exchange(record.job_id, {});
  read_members(story, record, kPoisonFields);
  if (record.job_id.empty()) record.job_id = id;
  if (story.contains("attempts")) record.attempts = attempts_from_json(story["attempts"]);
  return record;
}

std::string error_fingerprint(std::string_view kind, std::string_view code, std::string_view message,
                              const std::vector<std::string>& tables) {
  auto whole = std::string(kind).append("\n").append(code).append("\n").append(shape_of(message));
  for (const auto& table : tables) whole.append("\n").append(to_lower_ascii(table));
  return hex_encode(sha256(whole).substr(0, 8));
}

bool matches(const PoisonFilter& filter, const PoisonRecord& record) {
  if (!filter.kind.empty() && filter.kind != record.kind) return false;
  if (!filter.source.empty() && !iequals_ascii(filter.source, record.source)) return false;
  if (!filter.fingerprint.empty() && filter.fingerprint != record.fingerprint) return false;
  // A message that a person put into the queue by hand has no time.
  const auto moved = record.moved_at.value_or(Time{});
  if (filter.moved_after && moved < *filter.moved_after) return false;
  return !filter.moved_before || moved < *filter.moved_before;
}

Task<Result<PoisonPage>> PoisonStore::list_any(std::uint32_t limit, std::string continuation,
                                               std::vector<PoisonFilter> which) {
  PoisonPage out;
  out.continuation = std::move(continuation);
  // Few messages of a page may match a filter, so more are read than there is room for.
  bool looks_far = std::ranges::find(which, PoisonFilter{}) == which.end();
  const auto until = jobs_.now() + kSearchPatience;
  for (int pages = 0; pages < kPagesPerList && (pages == 0 || jobs_.now() < until); ++pages) {
    const auto before = out.records.size();
    const auto room = static_cast<std::uint32_t>(limit - before);
    auto page = CO_TRY(
        co_await page_of(queues_, std::string(kPoisonQueue), looks_far ? kGroupingPage : room, out.continuation));
    const auto taken = take_matching(page.messages, which, limit, out.records);
    if (taken < page.messages.size()) {
      // The next page begins behind the last message that there was room for.
      auto exactly = CO_TRY(
          co_await page_of(queues_, std::string(kPoisonQueue), static_cast<std::uint32_t>(taken), out.continuation));
      const bool same = !exactly.messages.empty() && exactly.messages.back().id == page.messages[taken - 1].id;
      if (!same) {  // some have moved meanwhile
        out.records.resize(before);
        looks_far = false;
        continue;
      }
      page = std::move(exactly);
    }
    out.continuation = std::move(page.continuation);
    out.searched += page.messages.size();
    if (out.continuation.empty() || out.records.size() >= limit) break;
  }
  co_return out;
}

Task<Result<PoisonGroups>> PoisonStore::groups(PoisonFilter which) {
  std::map<std::string, PoisonGroup> found;
  PoisonGroups out;
  std::string continuation;
  std::uint64_t seen = 0;
  do {
    auto page = CO_TRY(co_await page_of(queues_, std::string(kPoisonQueue), kGroupingPage, std::move(continuation)));
    for (const auto& message : page.messages) {
      if (!may_match(which, message)) continue;
      auto record = poison_record_of(message);
      if (!matches(which, record)) continue;
      auto& group = found[record.kind + "/" + record.fingerprint];
      add_to_group(group, std::move(record));
    }
    seen += page.messages.size();
    continuation = std::move(page.continuation);
  } while (!continuation.empty() && seen < kMaxGroupedMessages);
  out.complete = continuation.empty();
  for (auto& [key, group] : found) out.groups.push_back(std::move(group));
  std::stable_sort(out.groups.begin(), out.groups.end(),
                   [](const PoisonGroup& a, const PoisonGroup& b) { return a.count > b.count; });
  co_return out;
}

Task<Result<Message>> PoisonStore::message_of(std::string id, std::optional<std::uint64_t> epoch) {
  if (is_job_id(id)) {
    auto record = CO_TRY(co_await jobs_.find(std::move(id)));
    if (!record.has_value()) co_return fail(ErrorCode::kPoisonNotFound);
    id = record->message_id;
  }
  auto message = CO_TRY(or_not_found(co_await queues_.find(std::string(kPoisonQueue), std::move(id))));
  const bool is_meant = message && (!epoch || message->epoch == *epoch);
  if (!is_meant) co_return fail(ErrorCode::kPoisonNotFound);
  co_return std::move(*message);
}

Task<Result<PoisonRecord>> PoisonStore::find(std::string id, std::optional<std::uint64_t> epoch) {
  const auto message = CO_TRY(co_await message_of(std::move(id), epoch));
  co_return poison_record_of(message);
}

Task<Result<std::string>> PoisonStore::replace_text(PoisonRecord& poison, JobSpec& edited, std::string by) {
  const auto before = parse_job_message(poison.body);
  // The job remains a member of its group, and still follows the same job.
  if (before) edited.group = before->spec.group;
  if (before) edited.after = before->spec.after;
  if (before) edited.cause = before->spec.cause;
  add_mark(poison.attempts, kEdited, jobs_.now(), std::move(by));
  auto text = job_message_text(poison.job_id, edited);
  if (before && before->spec == edited) co_return text;
  if (const auto record = CO_TRY(co_await jobs_.find(poison.job_id)); record && record->epoch > poison.edited_epoch) {
    poison.attempts.back().done = record->done;
  }
  poison.edited_epoch = poison.epoch;
  co_return text;
}

Task<Result<PoisonRecord>> PoisonStore::edit(std::string id, JobSpec edited, std::string by, std::string seen) {
  for (int race = 1;; ++race) {
    const auto message = CO_TRY(co_await message_of(id));
    CO_TRY(check_seen(message, seen));
    auto done = co_await edit_as_read(poison_record_of(message), edited, by);
    if (!seen.empty() || race == kRaces || !done.failed_with(ErrorCode::kConditionNotMet)) co_return done;
  }
}

/// Refuses to edit a job whose worker has ended it with steps: whatever its input, nobody works on it any more.
static Result<void> may_be_edited(const std::optional<JobRecord>& record) {
  if (!record || record->end_steps.empty()) return {};
  return fail(ErrorCode::kJobInvalid,
              "Job " + record->id +
                  " has ended with steps, and cannot be edited: mend the cause and send it back "
                  "as it is, or undo it, or delete it and submit another.");
}

Task<Result<PoisonRecord>> PoisonStore::edit_as_read(PoisonRecord poison, JobSpec edited, std::string by) {
  if (!poison.job_id.empty()) CO_TRY(may_be_edited(CO_TRY(co_await jobs_.find(poison.job_id))));
  auto text = CO_TRY(co_await replace_text(poison, edited, std::move(by)));
  // The message moves from the queue to itself: one transaction, and its history stays.
  CO_TRY(or_not_found(co_await queues_.redrive(std::string(kPoisonQueue), poison.message_id, std::string(kPoisonQueue),
                                               std::move(text), poison_annotation(poison), poison.epoch, poison.etag)));
  co_return co_await find(poison.message_id);
}

Task<Result<PoisonRecord>> PoisonStore::redrive(std::string id, std::optional<JobSpec> edited, std::string by,
                                                std::optional<std::uint64_t> epoch, std::string seen) {
  for (int race = 1;; ++race) {
    const auto message = CO_TRY(co_await message_of(id, epoch));
    CO_TRY(check_seen(message, seen));
    auto done = co_await redrive_as_read(poison_record_of(message), edited, by);
    if (!seen.empty() || race == kRaces || !done.failed_with(ErrorCode::kConditionNotMet)) co_return done;
  }
}

Task<Result<PoisonRecord>> PoisonStore::redrive_as_read(PoisonRecord poison, std::optional<JobSpec> edited,
                                                        std::string by) {
  const auto message_id = poison.message_id;

  // The record is read before the message moves: a worker may take the message at once, and its claim must win over the
  // note that is written afterwards. A crash in between does no harm: the claim takes over the poisoned record.
  std::optional<JobRecord> record;
  if (!poison.job_id.empty()) record = CO_TRY(co_await jobs_.find(poison.job_id));
  std::optional<std::string> text;
  if (edited) CO_TRY(may_be_edited(record));
  if (edited) text = CO_TRY(co_await replace_text(poison, *edited, by));
  add_mark(poison.attempts, kSentBack, jobs_.now(), std::move(by));
  poison.redrives += 1;
  // The beginning of the message's next history, which the worker continues.
  json annotation = {{"jobId", poison.job_id}, {"redrives", poison.redrives}, {"attempts", kept_json(poison.attempts)}};
  if (poison.edited_epoch != 0) annotation["editedEpoch"] = poison.edited_epoch;
  const bool own_record = record && record->message_id == message_id;
  const bool has_ended = own_record && !record->end_steps.empty();
  auto queue = has_ended ? queue_of(CO_TRY(work_left_of(*record))) : way_back(poison, edited);
  if (own_record) record = CO_TRY(co_await jobs_.place(std::move(*record), name_of_queue(queue)));
  CO_TRY(or_not_found(co_await queues_.redrive(std::string(kPoisonQueue), message_id, std::move(queue), std::move(text),
                                               annotation.dump(-1, ' ', false, json::error_handler_t::ignore),
                                               poison.epoch, poison.etag)));
  if (own_record) {
    auto requeued = co_await jobs_.requeue(std::move(*record), std::move(edited), poison.edited_epoch, poison.attempts);
    // The message is on its way, so the redrive has happened even if the note failed.
    if (!requeued && requeued.error().code == ErrorCode::kCorruption) co_return fail(std::move(requeued.error()));
  }
  co_return std::move(poison);
}

Task<Result<void>> PoisonStore::remove(std::string id, std::optional<std::uint64_t> epoch) {
  auto message = CO_TRY(co_await message_of(std::move(id), epoch));
  co_return or_not_found(co_await queues_.remove(std::string(kPoisonQueue), std::move(message.id), message.epoch));
}

Task<Result<std::optional<PoisonRecord>>> PoisonStore::named(std::string queue, std::string id) {
  if (!queue.empty()) {
    auto message = co_await queues_.find(queue_service::poison_queue_of(queue), std::move(id));
    if (message.failed_with(ErrorCode::kQueueNotFound)) co_return std::nullopt;
    auto found = CO_TRY(std::move(message));
    if (!found) co_return std::nullopt;
    co_return record_in_own_queue(*found);
  }
  auto found = co_await find(std::move(id));
  if (found.failed_with(ErrorCode::kPoisonNotFound)) co_return std::nullopt;
  co_return CO_TRY(std::move(found));
}

Task<Result<PoisonPage>> PoisonStore::select(std::uint32_t limit, std::string continuation, PoisonSelection which) {
  PoisonPage out;
  if (which.ids.empty() && which.queue.empty()) {
    co_return co_await list(limit, std::move(continuation), std::move(which.filter));
  }
  if (which.ids.empty()) {
    auto page =
        CO_TRY(co_await page_of(queues_, queue_service::poison_queue_of(which.queue), limit, std::move(continuation)));
    for (const auto& message : page.messages) out.records.push_back(record_in_own_queue(message));
    out.continuation = std::move(page.continuation);
    co_return out;
  }
  const auto from = std::min(parse_number<std::size_t>(continuation).value_or(0), which.ids.size());
  const auto count = std::min<std::size_t>(limit, which.ids.size() - from);
  std::vector<std::optional<PoisonRecord>> found(count);
  tidemark::Step step = [&](std::size_t number) -> Task<Result<void>> {
    found[number] = CO_TRY(co_await named(which.queue, which.ids[from + number]));
    co_return Result<void>{};
  };
  CO_TRY(co_await side_by_side(jobs_.clock(), count, std::move(step)));
  for (auto& record : found) {
    if (record) out.records.push_back(std::move(*record));
  }
  if (from + count < which.ids.size()) out.continuation = std::to_string(from + count);
  co_return out;
}

Task<Result<PoisonCount>> PoisonStore::count(PoisonSelection which) {
  PoisonCount out;
  if (!which.ids.empty()) {
    const auto page = CO_TRY(co_await select(kMaxPoisonIds, {}, std::move(which)));
    out.count = page.records.size();
  } else if (!which.queue.empty()) {
    auto figures = co_await queues_.figures(queue_service::poison_queue_of(which.queue));
    if (figures.failed_with(ErrorCode::kQueueNotFound)) co_return out;
    out.count = CO_TRY(std::move(figures)).messages;
  } else {
    const auto found = CO_TRY(co_await groups(std::move(which.filter)));
    for (const auto& group : found.groups) out.count += group.count;
    out.complete = found.complete;
  }
  co_return out;
}

Task<Result<void>> PoisonStore::send_back(std::string queue, std::string id, std::optional<std::string> text,
                                          std::optional<std::uint64_t> epoch, std::string seen) {
  auto from = queue_service::poison_queue_of(queue);
  co_return or_not_found(co_await queues_.redrive(std::move(from), std::move(id), std::move(queue), std::move(text), {},
                                                  epoch, std::move(seen)));
}

Task<Result<void>> PoisonStore::remove_from(std::string queue, std::string id, std::optional<std::uint64_t> epoch) {
  co_return or_not_found(co_await queues_.remove(queue_service::poison_queue_of(queue), std::move(id), epoch));
}

}  // namespace tidemark::jobs
