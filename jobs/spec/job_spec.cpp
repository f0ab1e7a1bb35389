#include "jobs/spec/job_spec.h"

#include "common/base/encoding.h"
#include "common/base/json.h"
#include "common/base/nearest_word.h"
#include "common/base/xml_text.h"
#include "jobs/kinds/reach.h"
#include "jobs/spec/job_queues.h"
#include "jobs/spec/names.h"
#include "jobs/spec/spec_members.h"
#include "jobs/store/job_record.h"
#include "queue_service/model/queue_rules.h"

namespace tidemark::jobs {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t kMaxSpecsBytes = 4UL << 20;
constexpr std::size_t kMaxSpecs = 1000;
constexpr std::size_t kMaxListedProblems = 100;
constexpr std::size_t kMaxTraceBytes = 100 + 2 * kMaxTraceState;  // its quotes are escaped
static_assert(kMaxMessageSpecBytes + kMaxTraceBytes <= table_store::kMaxStringUnits);
constexpr std::int64_t kMaxRetryMs = std::chrono::milliseconds(kLongestRetry).count();

constexpr Names<Priority, 3> kPriorities{
    {{Priority::kHigh, "high"}, {Priority::kNormal, "normal"}, {Priority::kLow, "low"}}};

constexpr auto kPriorityNames = texts_in(kPriorities);

constexpr About kAboutNotBefore{
    .meaning = "time of the earliest start",
    .option = "time of the earliest start: 2026-01-31T22:00:00Z, or \"2026-01-31 23:00\" here"};
constexpr About kAboutTrace{.meaning = "the trace of the submission, as in the header of this name", .flag = ""};
constexpr About kAboutThen{.option = "the job that follows its success, as JSON"};

/// The priority of `spec` must have been read before.
void read_queue(SpecMembers& in, JobSpec& spec) {
  const About about{.meaning = "put it on a queue with workers of its own; default: those of the priorities",
                    .pattern = kQueueNamePattern,
                    .most = kMaxQueueName};
  if (!in.text("queue", spec.queue, about) || spec.queue == kDefaultQueue) return;
  if (!is_own_queue(spec.queue)) return in.problem("queue " + std::string(kQueueNameRule));
  if (spec.priority == Priority::kNormal) return;
  in.problem("priority and queue cannot both be given: only the queue default has priorities");
}

void read_key(SpecMembers& in, JobSpec& spec) {
  const About about{.meaning = "jobs take turns by the part before the first /, then by all of it",
                    .most = kMaxJobKeyBytes};
  if (!in.text("key", spec.key, about) || spec.key.empty()) return;
  if (!queue_service::check_key("key", spec.key, kMaxJobKeyBytes)) {
    in.problem("key must have at most 128 bytes and no control characters");
  }
}

void read_common(SpecMembers& in, JobSpec& spec) {
  in.number("maxAttempts", spec.max_attempts, 1, kMaxAttemptsLimit,
            {.meaning = "attempts before the job becomes poison"});
  const auto& chosen = spec.idempotency_key;
  const About about_key{
      .meaning = "the same key gives the same job again", .least = 1, .most = kMaxIdempotencyKeyLength};
  if (in.text("idempotencyKey", spec.idempotency_key, about_key) &&
      (chosen.empty() || !is_valid_utf8(chosen) || utf16_length(chosen) > kMaxIdempotencyKeyLength)) {
    in.problem("idempotencyKey must have 1 to 256 characters");
  }
  std::string name(priority_name(spec.priority));
  if (in.text("priority", name, {.meaning = "high, normal or low", .one_of = kPriorityNames})) {
    const auto priority = value_in(kPriorities, name);
    if (!priority) in.problem("priority must be high, normal or low");
    spec.priority = priority.value_or(Priority::kNormal);
  }
  read_queue(in, spec);
  read_key(in, spec);
  in.time("notBefore", spec.not_before, kAboutNotBefore);
  in.number("retryBaseMs", spec.retry_base_ms, 1, kMaxRetryMs, {.meaning = "greatest delay before the first retry"});
  in.number("retryCapMs", spec.retry_cap_ms, 1, kMaxRetryMs, {.meaning = "greatest delay before any retry"});
  on_end_member(in, spec.on_end);
  if (spec.retry_base_ms && spec.retry_cap_ms && *spec.retry_base_ms > *spec.retry_cap_ms) {
    in.problem("retryBaseMs must not be more than retryCapMs");
  }
  in.number("keepHours", spec.keep_hours, kMinKeepHours, kMaxKeepHours,
            {.meaning = "keep the record so long after the end"});
}

/// A text that is not a trace is ignored, as in a request.
void read_trace(SpecMembers& in, JobSpec& spec) {
  std::string parent, state;
  in.text("traceparent", parent, kAboutTrace);
  in.text("tracestate", state, kAboutTrace);
  if (const auto trace = parse_trace(parent, state)) spec.trace = *trace;
}

/// Reads the members of the kinds that select entities.
void read_limits(SpecMembers& in, JobSpec& spec) {
  in.number("maxAffected", spec.max_affected, 1, INT64_MAX,
            {.meaning = "stop instead of changing more entities than this"});
  in.number("maxPerSecond", spec.max_per_second, 1, 1'000'000, {.meaning = "entities a second"});
}

JobSpec without_trace(JobSpec spec) {
  spec.trace = {};
  return spec;
}

/// The rules by which a text is read.
struct Reading {
  std::size_t most = kMaxSpecBytes;  // the limit of the canonical text in bytes
  const OwnKinds* own = nullptr;     // the declared kinds; null: a job with a version may be of any kind
};

Result<JobSpec> read_spec(const json& object, std::string* job_id, const Reading& by, int following = 0,
                          std::string queue = {});

/// Reads the job that follows, whose problems count as this one's; `following`: how many jobs are before it.
void read_then(SpecMembers& in, JobSpec& spec, const Reading& by, int following) {
  if (in.describes()) in.describe("then", reference("Then"), kAboutThen);
  const auto* given = in.any("then");
  if (given == nullptr) return;
  if (following == kMostFollowing) return in.problem("then: at most 5 jobs can follow one another");
  if (given->is_object() && given->contains("idempotencyKey")) {
    return in.problem("then: idempotencyKey cannot be given: the job before has one such job");
  }
  const auto next = read_spec(*given, nullptr, by, following + 1, spec.queue);
  if (next) spec.then = canonical_text(*next);
  if (next) return;
  for (const auto& [name, problem] : next.error().fields) in.problem("then: " + problem);
}

/// Says which kinds there are, and how to have another one.
std::string no_such_kind(const std::string& name, const OwnKinds* own) {
  std::vector<std::string> kinds(Kinds::kNames.begin(), Kinds::kNames.end());
  for (const auto& kind : own != nullptr ? *own : OwnKinds()) kinds.push_back(kind.name);
  const auto guess = guess_of(name, kinds);
  auto out = "kind must be one of " + joined(kinds) + (guess.empty() ? "" : "." + guess);
  if (guess.empty() && own != nullptr && is_own_kind_name(name)) {
    out += ". To have a kind of your own, declare it first: PUT /v1/kinds/" + name;
  }
  return out;
}

/// Fills in the values of a declaration that the job may replace.
void take_defaults(const OwnKind& kind, JobSpec& spec) {
  spec.max_attempts = kind.max_attempts;
  spec.retry_base_ms = kind.retry_base_ms;
  spec.retry_cap_ms = kind.retry_cap_ms;
  spec.keep_hours = kind.keep_hours;
}

/// Reads the work of a kind that users have declared.
void read_own_work(SpecMembers& in, const std::string& name, JobSpec& spec) {
  auto& work = spec.work.emplace<OwnSpec>();
  work.kind = name;
  work.members(in);
  if (in.has("queue")) in.problem("queue cannot be given: each version of a kind of your own has its own queue");
  spec.queue.clear();
}

/// `job_id`: receives a message's jobId; null for a submission, which must not have one.
/// `queue`: the queue of the job before it, which it keeps unless it names another.
Result<JobSpec> read_spec(const json& object, std::string* job_id, const Reading& by, int following,
                          std::string queue) {
  if (!object.is_object()) return invalid_job({"it must be a JSON object"});
  SpecMembers in(object);
  JobSpec spec;
  if (job_id != nullptr) {
    if (in.text("jobId", *job_id) && !is_job_id(*job_id)) in.problem("jobId does not have the form of a job id");
    spec.group = read_group_member(in);
    if (in.text("after", spec.after) && !is_job_id(spec.after)) in.problem("after must be the id of a job");
    spec.cause = read_cause(in);
  }
  std::string name;
  const bool named = in.text("kind", name, true);
  const auto* declared = by.own != nullptr ? find_kind(*by.own, name) : nullptr;
  if (declared != nullptr) take_defaults(*declared, spec);
  const bool is_own = declared != nullptr || (by.own == nullptr && in.has("version") && is_own_kind_name(name));
  read_common(in, spec);
  if (spec.queue.empty() && spec.priority == Priority::kNormal) spec.queue = std::move(queue);
  read_trace(in, spec);
  read_then(in, spec, by, following);
  if (!is_kind(name) && !is_own) {
    if (named) in.problem(no_such_kind(name, by.own));
    return invalid_job(in.problems());  // the other members cannot be checked without the kind
  }
  bool selects_entities = false;
  Kinds::for_each([&]<class Spec>(const Spec&) {
    if (name != Spec::kName) return;
    spec.work.emplace<Spec>().members(in);
    selects_entities = Spec::kSelectsEntities;
  });
  if (is_own) read_own_work(in, name, spec);
  if (selects_entities) read_limits(in, spec);
  in.refuse_unknown();
  if (in.problems().empty() && canonical_text(without_trace(spec)).size() > by.most) {
    in.problem("it is longer than " + std::to_string(by.most) + " bytes" +
               (is_own ? ", its input included: put a larger input into a blob, and name the blob" : ""));
  }
  if (!in.problems().empty()) return invalid_job(in.problems());
  return spec;
}

Result<json> parse_json(std::string_view text, std::size_t limit) {
  if (text.size() > limit) return invalid_job({"it is longer than " + std::to_string(limit) + " bytes"});
  auto parsed = read_json(text);
  if (!parsed) return invalid_job({std::move(parsed.error().message)});
  return std::move(*parsed);
}

/// Parses the text as it is or in Base64.
Result<json> parse_message_json(std::string_view text) {
  std::string decoded;
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] != '{') {
    if (auto bytes = base64_decode_wrapped(std::string(text))) {
      decoded = std::move(*bytes);
      text = decoded;
    }
  }
  return parse_json(text, 2 * kMaxMessageSpecBytes);
}

/// Returns the text in a form that a message can carry.
std::string carried_text(const ordered_json& spec) {
  return json_as_xml_text(spec.dump(-1, ' ', false, json::error_handler_t::replace));
}

ordered_json ordered(const JobSpec& spec) {
  ordered_json out;
  out["kind"] = kind_name(spec);
  SpecMembers members(out);
  std::visit([&](auto work) { work.members(members); }, spec.work);
  out["maxAttempts"] = spec.max_attempts;
  if (spec.priority != Priority::kNormal) out["priority"] = priority_name(spec.priority);
  if (!spec.queue.empty()) out["queue"] = spec.queue;
  if (!spec.key.empty()) out["key"] = spec.key;
  if (spec.not_before) out["notBefore"] = to_iso8601_7digits(*spec.not_before);
  if (spec.retry_base_ms) out["retryBaseMs"] = *spec.retry_base_ms;
  if (spec.retry_cap_ms) out["retryCapMs"] = *spec.retry_cap_ms;
  if (spec.keep_hours) out["keepHours"] = *spec.keep_hours;
  if (spec.max_affected) out["maxAffected"] = *spec.max_affected;
  if (spec.max_per_second) out["maxPerSecond"] = *spec.max_per_second;
  if (spec.on_end) out["onEnd"] = members_json(*spec.on_end);
  if (!spec.then.empty()) out["then"] = ordered_json::parse(spec.then);
  if (spec.group) out["group"] = group_json(*spec.group);
  if (!spec.after.empty()) out["after"] = spec.after;
  if (spec.cause) out["cause"] = cause_json(*spec.cause);
  if (!spec.idempotency_key.empty()) out["idempotencyKey"] = spec.idempotency_key;
  if (spec.trace) out["traceparent"] = traceparent_of(spec.trace);
  if (!spec.trace.state.empty()) out["tracestate"] = spec.trace.state;
  return out;
}

}  // namespace

std::vector<Member> members_of_every_job() {
  std::vector<Member> out;
  SpecMembers to(out);
  JobSpec spec;
  read_common(to, spec);
  read_trace(to, spec);
  read_then(to, spec, {}, 0);
  return out;
}

std::vector<Member> members_of_selecting_jobs() {
  std::vector<Member> out;
  SpecMembers to(out);
  JobSpec spec;
  read_limits(to, spec);
  return out;
}

std::string_view priority_name(Priority priority) { return name_in(kPriorities, priority); }

std::vector<std::string> tables_of(const JobSpec& spec) {
  auto reach = reach_of(spec);
  auto tables = std::move(reach.tables);
  for (auto* table : {&reach.from.table, &reach.to.table}) {
    if (!table->empty() && (tables.empty() || !iequals_ascii(tables.front(), *table)))
      tables.push_back(std::move(*table));
  }
  return tables;
}

std::string_view kind_name(const JobSpec& spec) {
  if (const auto* own = std::get_if<OwnSpec>(&spec.work)) return own->kind;
  return Kinds::kNames.at(spec.work.index());
}

bool is_never_poison(const JobSpec& spec) {
  return std::visit([]<class Spec>(const Spec&) { return NeverPoison<Spec>; }, spec.work);
}

Result<JobSpec> parse_job_spec(std::string_view json_text, const OwnKinds& own) {
  auto parsed = TRY(parse_json(json_text, 2 * kMaxSpecBytes));
  return read_spec(parsed, nullptr, {.own = &own});
}

Result<JobSpec> parse_stored_spec(std::string_view text) {
  auto message = TRY(parse_job_message(text));
  return std::move(message.spec);
}

Result<JobSpec> job_spec_from_json(const json& object) { return read_spec(object, nullptr, {}); }

Result<JobBatch> parse_job_batch(std::string_view json_text, const OwnKinds& own) {
  auto parsed = TRY(parse_json(json_text, kMaxSpecsBytes));
  if (!parsed.is_object()) return invalid_job({"it must be {\"jobs\":[...]} with 1 to 1000 jobs"});
  SpecMembers in(parsed);
  JobBatch batch;
  const auto* list = in.any("jobs");
  if (in.text("group", batch.group) && !is_group_id(batch.group)) {
    in.problem("group must have 1 to 64 of letters, digits, '-', '_' and '.'");
  }
  on_end_member(in, batch.on_end);
  if (batch.on_end && !in.has("group")) in.problem("onEnd of many jobs needs group, the name that they are counted by");
  in.refuse_unknown();
  auto problems = in.problems();
  if (list == nullptr || !list->is_array() || list->empty() || list->size() > kMaxSpecs) {
    problems.emplace_back("jobs must be a list of 1 to 1000 jobs");
    return invalid_job(problems);
  }
  for (std::size_t i = 0; i < list->size() && problems.size() < kMaxListedProblems; ++i) {
    const auto place = "jobs[" + std::to_string(i) + "]: ";
    auto spec = read_spec((*list)[i], nullptr, {.own = &own});
    if (!spec) {
      for (const auto& [name, text] : spec.error().fields) problems.push_back(place + text);
      continue;
    }
    // Members are identified by their group and place: submitting the group again gives the same jobs.
    if (!batch.group.empty() && !spec->idempotency_key.empty()) {
      problems.push_back(place + "idempotencyKey cannot be given in a group, which is submitted once anyway");
    }
    batch.specs.push_back(std::move(*spec));
  }
  if (!problems.empty()) return invalid_job(problems);
  return batch;
}

std::string batch_fingerprint(const JobBatch& batch) {
  std::string all = batch.on_end ? members_json(*batch.on_end).dump() : std::string();
  for (const auto& spec : batch.specs) all += '\n' + canonical_text(without_trace(spec));
  return hex_encode(sha256(all));
}

json to_json(const JobSpec& spec) { return json(ordered(spec)); }

std::string canonical_text(const JobSpec& spec) { return carried_text(ordered(spec)); }

std::string spec_fingerprint(const JobSpec& spec) {
  auto anonymous = without_trace(spec);
  anonymous.idempotency_key.clear();
  return hex_encode(sha256(canonical_text(anonymous)));
}

std::string job_message_text(std::string_view job_id, const JobSpec& spec) {
  ordered_json out;
  if (!job_id.empty()) out["jobId"] = job_id;
  out.update(ordered(spec));
  return carried_text(out);
}

Result<JobMessage> parse_job_message(std::string_view text) {
  const auto parsed = TRY(parse_message_json(text));
  JobMessage message;
  message.spec = TRY(read_spec(parsed, &message.job_id, {.most = kMaxMessageSpecBytes}));
  return message;
}

std::string job_id_in(std::string_view text) {
  const auto parsed = parse_message_json(text);
  const bool named = parsed && parsed->is_object() && parsed->contains("jobId") && (*parsed)["jobId"].is_string();
  auto id = named ? (*parsed)["jobId"].get<std::string>() : std::string();
  return is_job_id(id) ? id : std::string();
}

}  // namespace tidemark::jobs
