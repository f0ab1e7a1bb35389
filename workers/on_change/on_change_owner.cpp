#include "workers/on_change/on_change_owner.h"

#include <map>
#include <ranges>
#include <set>

#include "common/base/bytes.h"
#include "common/base/encoding.h"
#include "common/base/side_by_side.h"
#include "common/base/xml_text.h"
#include "common/process/failures.h"
#include "feeds/definition/change_text.h"
#include "feeds/tokens/token.h"
#include "queue_service/model/queue_rules.h"
#include "table_store/odata/odata_json.h"
#include "workers/on_change/test_switches.h"
#include "workers/runtime/fail_points.h"

namespace tidemark::workers {
namespace {

using namespace std::chrono_literals;
using table_store::Change;
using table_store::ChangeKind;

constexpr std::uint32_t kPageChanges = 100;
constexpr Duration kIdleWait = 500ms;
constexpr Duration kWriteAtLeast = 1s;
constexpr std::uint32_t kRulePageChanges = 256;
constexpr std::size_t kPartitionsAtOnce = 8;
constexpr std::size_t kJobsAtOnce = 32;
constexpr Duration kLeastPause = 50ms;

bool of_table(const Change& change) { return change.kind == ChangeKind::kDrop || change.kind == ChangeKind::kCreate; }

/// The queue's message group for the changes of a partition.
std::string group_of(const std::string& id, const Change& change) {
  std::uint64_t sum = 0xcbf29ce484222325;  // FNV-1a
  for (const auto c : change.partition_key) sum = (sum ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
  return id + ":" + std::to_string(sum);
}

/// Tells whether the feed has lost the changes after this place.
bool is_lost(ErrorCode code) { return code == ErrorCode::kChangesExpired || code == ErrorCode::kFeedNotFound; }

}  // namespace

std::shared_ptr<OnChangeOwner> OnChangeOwner::create(OnChangeServices services, feeds::OnChange on_change,
                                                     std::uint64_t epoch) {
  return std::shared_ptr<OnChangeOwner>(new OnChangeOwner(services, std::move(on_change), epoch));
}

OnChangeOwner::OnChangeOwner(OnChangeServices services, feeds::OnChange on_change, std::uint64_t epoch)
    : services_(services),
      on_change_(std::move(on_change)),
      epoch_(epoch),
      fences_(feeds::operation_of(on_change_.id), epoch) {
  if (!services_.pages) services_.pages = std::make_shared<SharedPages>(services_.tables, services_.clock);
  if (on_change_.definition.rule) rule_.emplace(services_.jobs, services_.queues, services_.clock, on_change_);
}

void OnChangeOwner::start(Executor strand) { spawn(std::move(strand), run(shared_from_this())); }

void OnChangeOwner::update(const feeds::OnChange& on_change) {
  on_change_.resumes_asked = on_change.resumes_asked;
  on_change_.resume_after = on_change.resume_after;
  on_change_.paused = on_change.paused;
  wake_.notify_all();
}

void OnChangeOwner::stop() {
  stopping_ = true;
  wake_.notify_all();
}

Task<void> OnChangeOwner::run(std::shared_ptr<OnChangeOwner> self) {
  while (!self->stopping_) {
    const auto served = co_await self->serve();
    if (served || served.error().code == ErrorCode::kFenced) break;
    process::log_failed_task("worker.on_change " + self->on_change_.name, served.error());
    const auto pause = self->services_.retries.backoff(++self->failures_, self->services_.random);
    co_await self->wake_.wait(self->services_.clock, std::max(kLeastPause, pause));
  }
  self->ended_ = true;
}

Task<Result<void>> OnChangeOwner::serve() {
  CO_TRY(co_await begin());
  while (!stopping_) {
    CO_TRY(co_await heed_wishes());
    if (progress_.state == feeds::kStopped || on_change_.paused) {
      if (unwritten_since_) CO_TRY(co_await flush());
      co_await wake_.wait(services_.clock, kIdleWait);
    } else {
      CO_TRY(co_await step());
    }
    failures_ = 0;
  }
  co_return Result<void>{};
}

Task<Result<void>> OnChangeOwner::begin() {
  // From now on, requests that an earlier owner has sent and given up on are refused.
  const auto fence = fences_.next();
  const auto ledger = CO_TRY(co_await services_.tables.open_operation(fence.operation_id, fence.epoch, 0));
  if (ledger.closed) co_return fail(ErrorCode::kFenced);  // it was removed
  filter_ = CO_TRY(table_store::Filter::parse(on_change_.definition.filter));
  progress_ = CO_TRY(co_await services_.store.progress(on_change_.id));
  if (progress_.token.empty()) progress_.token = on_change_.start;
  page_ = std::make_shared<const table_store::FeedPage>();
  done_.clear();
  read_ = 0;
  co_return Result<void>{};
}

Task<Result<void>> OnChangeOwner::heed_wishes() {
  if (progress_.resumes >= on_change_.resumes_asked) co_return Result<void>{};
  progress_.resumes = on_change_.resumes_asked;
  progress_.state = feeds::kRunning;
  progress_.attempts = 0;
  progress_.failed.clear();
  progress_.day.clear();
  if (!on_change_.resume_after.empty()) {
    progress_.token = on_change_.resume_after;
    page_ = std::make_shared<const table_store::FeedPage>();
    done_.clear();
    read_ = 0;
  }
  co_return co_await flush();
}

Task<Result<void>> OnChangeOwner::step() {
  if (read_ == page_->changes.size()) CO_TRY(co_await read_page());
  const auto now = services_.clock.monotonic();
  const bool is_late = unwritten_since_ && now - *unwritten_since_ >= kWriteAtLeast;
  if (unwritten_since_ && (page_->changes.empty() || is_late)) CO_TRY(co_await flush());
  if (page_->changes.empty()) co_return Result<void>{};
  const auto told_before = progress_.told;
  const auto told = co_await tell_page();
  const auto before = read_;
  while (read_ < done_.size() && done_[read_]) ++read_;
  if (read_ > before) {
    progress_.token = token_behind(read_);
    progress_.attempts = 0;
    progress_.failed.clear();
    stalls_ = 0;
  }
  if (!told) co_return co_await fail_with(told.error());
  const bool had_error = !std::exchange(progress_.last_error, {}).empty();
  if (progress_.told == told_before && !had_error) {
    // Changes that concern nobody may be read again, so the place behind them is written only now and then.
    if (!unwritten_since_) unwritten_since_ = now;
    co_return Result<void>{};
  }
  if (rule_) co_return co_await fail_points::kRulePlace.around(flush());
  co_return co_await flush();
}

Task<Result<void>> OnChangeOwner::read_page() {
  page_ = std::make_shared<const table_store::FeedPage>();
  done_.clear();
  read_ = 0;
  if (const auto place = feeds::parse_token(on_change_.table, progress_.token); !place) {
    co_return co_await stop_for(place.error());
  }
  const auto limit = rule_ ? kRulePageChanges : kPageChanges;
  auto page = co_await services_.pages->read(on_change_.table, progress_.token, limit, kIdleWait);
  if (!page && is_lost(page.error().code)) co_return co_await stop_for(std::move(page.error()));
  page_ = CO_TRY(std::move(page));
  done_.assign(page_->changes.size(), false);
  co_return Result<void>{};
}

Task<Result<void>> OnChangeOwner::tell_page() {
  const auto lanes = CO_TRY(co_await this->lanes());
  const bool held_up = lanes.empty() && !done_[read_];  // by a limit of the rule
  if (held_up) co_await wake_.wait(services_.clock, kIdleWait);
  co_return co_await side_by_side(
      services_.clock, lanes.size(), [&](std::size_t lane) { return tell_in_order(lanes[lane]); },
      rule_ ? kJobsAtOnce : kPartitionsAtOnce);
}

Task<Result<std::vector<std::vector<std::size_t>>>> OnChangeOwner::lanes() {
  auto room = rule_ ? CO_TRY(co_await rule_->room(progress_)) : page_->changes.size();
  // A drop must be told after the changes of its table, and before those of the next table of that name.
  const bool in_one = !rule_ && std::ranges::any_of(page_->changes, of_table);
  std::map<std::string, std::vector<std::size_t>> by_key;
  for (std::size_t i = read_; i < page_->changes.size(); ++i) {
    if (done_[i]) continue;
    const auto wanted = rule_ && check_values(page_->changes[i]) ? wants(page_->changes[i]) : Result<bool>(true);
    if (wanted && !*wanted) {
      done_[i] = true;
      ++progress_.passed_by;
      continue;
    }
    if (rule_ && room-- == 0) break;
    by_key[lane_of(page_->changes[i], in_one)].push_back(i);
  }
  std::vector<std::vector<std::size_t>> out;
  for (auto& [key, numbers] : by_key) out.push_back(std::move(numbers));
  if (rule_ && on_change_.definition.rule->collapse) collapse(out);
  co_return out;
}

std::string OnChangeOwner::lane_of(const Change& change, bool in_one) const {
  if (in_one) return {};
  if (!rule_) return change.partition_key;
  const auto order = on_change_.definition.rule->order;
  if (order == feeds::Order::kPartition) return change.partition_key;
  // Without an order, too, the jobs of an entity are made in turn, so that the last of them can be told.
  return change.partition_key + '\0' + change.row_key;
}

void OnChangeOwner::collapse(const std::vector<std::vector<std::size_t>>& lanes) {
  for (const auto& lane : lanes) {
    std::set<std::string_view> later;  // the rows of the lane's partition that have a later change which makes a job
    for (const auto number : std::views::reverse(lane)) {
      const auto& change = page_->changes[number];
      if (!wants(change).value_or(false) || later.insert(change.row_key).second) continue;
      done_[number] = true;
      ++progress_.passed_by;
    }
  }
}

Task<Result<void>> OnChangeOwner::tell_in_order(std::vector<std::size_t> numbers) {
  for (const auto number : numbers) {
    if (stopping_) co_return fail(ErrorCode::kCancelled);
    if (done_[number]) continue;
    const auto& change = page_->changes[number];
    CO_TRY(check_values(change));
    if (test_switches::place_first) done_[number] = true;
    if (CO_TRY(wants(change))) {
      CO_TRY(co_await tell(number));
      ++progress_.told;
    } else {
      ++progress_.passed_by;
    }
    done_[number] = true;
  }
  co_return Result<void>{};
}

Result<void> OnChangeOwner::check_values(const Change& change) const {
  if (of_table(change)) return {};
  const auto& wanted = on_change_.definition;
  const bool filters = !filter_.matches_all();
  const bool compares = wanted.rule || wanted.when != feeds::When::kMatches;
  const bool was_there = change.kind != ChangeKind::kInsert;
  const bool is_there = change.kind != ChangeKind::kDelete;
  const bool old_missing = was_there && !change.before && (wanted.old_values || compares || (filters && !is_there));
  const bool new_missing = is_there && !change.after && (wanted.new_values || compares || filters);
  if (!old_missing && !new_missing) return {};
  return fail(ErrorCode::kInvalidInput,
              "The feed has not kept the values of this change that the declaration needs. Declare the feed with "
              "\"values\":\"both\", and resume after the changes that were kept without them.");
}

Result<bool> OnChangeOwner::wants(const Change& change) const {
  if (rule_) return rule_->wants(filter_, change);
  return feeds::concerns(on_change_.definition.when, filter_, change);
}

std::string OnChangeOwner::token_behind(std::size_t count) const {
  return feeds::token_of(on_change_.table, table_store::place_behind(*page_, count));
}

std::string OnChangeOwner::id_of(const Change& change) const {
  return on_change_.id + "." + feeds::id_of(on_change_.table, *page_, change);
}

std::string OnChangeOwner::text_of(const Change& change, const std::string& token, bool values) const {
  auto told = change;
  if (!values || !on_change_.definition.old_values) told.before.reset();
  if (!values || !on_change_.definition.new_values) told.after.reset();
  std::string out = R"({"onChange":)";
  table_store::append_json_string(out, on_change_.name);
  out += R"(,"table":)";
  table_store::append_json_string(out, on_change_.table);
  out += R"(,"change":)";
  feeds::append_change(out, told, token);
  if (!values) out += R"(,"valuesLeftOut":true)";
  return out + "}";
}

Task<Result<void>> OnChangeOwner::tell(std::size_t number) {
  if (rule_) co_return co_await make_job(number);
  const auto& change = page_->changes[number];
  const auto token = token_behind(number + 1);
  if (on_change_.definition.webhook) co_return co_await post(change, token);
  co_return co_await put(change, token);
}

Task<Result<void>> OnChangeOwner::make_job(std::size_t number) {
  CO_TRY(rule_->check_day(progress_));
  for (auto left = rule_->pause(); left > Duration::zero() && !stopping_;) {
    const auto begun = services_.clock.now();
    co_await wake_.wait(services_.clock, left);
    left -= services_.clock.now() - begun;
  }
  if (stopping_) co_return fail(ErrorCode::kCancelled);
  const auto& change = page_->changes[number];
  CO_TRY(co_await rule_->submit(change, feeds::id_of(on_change_.table, *page_, change)));
  rule_->count(progress_);
  co_return Result<void>{};
}

Task<Result<void>> OnChangeOwner::post(const Change& change, const std::string& token) {
  SignedCall call;
  static_cast<jobs::CallbackEndpoint&>(call.spec) = *on_change_.definition.webhook;
  call.spec.body = text_of(change, token, true);
  call.spec.timeout_ms = on_change_.definition.timeout_ms;
  call.id = id_of(change);
  call.attempt = progress_.attempts + 1;
  call.epoch = epoch_;
  const auto sent = CO_TRY(co_await send_signed(services_.callbacks, services_.clock, std::move(call)));
  co_return judge_reply(sent.reply, sent.origin, sent.secrets);
}

Task<Result<void>> OnChangeOwner::put(const Change& change, const std::string& token) {
  queue_service::PutRequest message;
  message.text = json_as_xml_text(text_of(change, token, true));
  if (message.text.size() > queue_service::kMaxTextBytes)
    message.text = json_as_xml_text(text_of(change, token, false));
  message.group = group_of(on_change_.id, change);
  message.idempotency_key = id_of(change);
  auto put = co_await services_.queues.put(on_change_.definition.queue, std::move(message));
  // The message was put before, with other words: a repeated read of several shards may give another token.
  if (!put && put.error().code != ErrorCode::kIdempotencyKeyReused) co_return fail(std::move(put.error()));
  co_return Result<void>{};
}

Task<Result<void>> OnChangeOwner::fail_with(Error error) {
  if (stopping_) co_return co_await flush();
  progress_.failed = progress_.token;
  progress_.last_error = error.message;
  progress_.last_error_at = services_.clock.now();
  const auto attempt = progress_.attempts + 1;
  const auto most = on_change_.definition.max_attempts;
  const auto decision = services_.retries.decide(error, attempt, stalls_, most, services_.random);
  if (decision.treatment == Treatment::kAbandon) co_return fail(std::move(error));
  if (decision.count_attempt) progress_.attempts = attempt;
  stalls_ = decision.count_attempt ? 0 : stalls_ + 1;
  if (decision.treatment == Treatment::kPoison) co_return co_await stop_for(std::move(error));
  CO_TRY(co_await flush());
  co_await wake_.wait(services_.clock, std::max(kLeastPause, decision.delay));
  co_return Result<void>{};
}

Task<Result<void>> OnChangeOwner::stop_for(Error error) {
  progress_.state = feeds::kStopped;
  progress_.last_error = error.message;
  progress_.last_error_at = services_.clock.now();
  co_return co_await flush();
}

Task<Result<void>> OnChangeOwner::flush() {
  unwritten_since_.reset();
  co_return co_await services_.store.write_progress(on_change_.id, progress_, fences_.next());
}

}  // namespace tidemark::workers
