#include "api/rest/work_desk.h"

#include <boost/asio/strand.hpp>

#include "common/base/encoding.h"
#include "common/process/failures.h"

namespace tidemark::api {
namespace {

using queue_service::Message;

constexpr std::size_t kMostWaiting = 10'000;
constexpr std::size_t kBatchesAtOnce = 3;
constexpr std::size_t kMostKnownWorkers = 10'000;
constexpr Duration kKindsKept = std::chrono::minutes(1);
constexpr Duration kWatchSlice = std::chrono::seconds(5);
constexpr Duration kLookAgain = std::chrono::seconds(1);
constexpr Duration kAfterFailure = std::chrono::milliseconds(100);
constexpr std::size_t kNormal = 1;  // the place of the queue of the priority normal
/// The order in which the queues of the priorities are asked: six times of ten high first, three times normal, once
/// low.
constexpr std::array<std::array<std::size_t, 3>, 3> kOrders{{{0, 1, 2}, {1, 0, 2}, {2, 0, 1}}};

const std::array<std::size_t, 3>& order_in(std::uint32_t round) {
  return kOrders.at(round % 10 < 6 ? 0 : round % 10 < 9 ? 1 : 2);
}

/// Returns the queues of these versions, separated by commas.
std::string queues_of(const std::map<jobs::KindVersion, Duration>& kinds) {
  std::string out;
  for (const auto& [kind, at] : kinds) {
    for (const auto& queue : jobs::work_queues(kind)) out += (out.empty() ? "" : ",") + queue;
  }
  return out;
}

}  // namespace

WorkDesk::WorkDesk(jobs::WorkServices services, process::Metrics& metrics, const Executor& executor)
    : services_(services),
      work_(services),
      notes_(services.tables),
      workers_(services.tables),
      facts_(services.tables, services.clock),
      metrics_(metrics),
      strand_(asio::make_strand(executor)) {}

Task<Result<WorkDesk::Given>> WorkDesk::claim(Asked asked) {
  co_return co_await asio::co_spawn(strand_, claim_here(std::move(asked)), asio::use_awaitable);
}

Task<Result<WorkDesk::Beaten>> WorkDesk::beat(std::string worker, std::vector<jobs::JobBeat> beats) {
  co_return co_await asio::co_spawn(strand_, beat_here(std::move(worker), std::move(beats)), asio::use_awaitable);
}

Task<std::vector<Result<jobs::JobRecord>>> WorkDesk::end(std::vector<jobs::WorkEnd> ends) {
  co_return co_await asio::co_spawn(strand_, end_here(std::move(ends)), asio::use_awaitable);
}

Task<Result<std::shared_ptr<const WorkFacts>>> WorkDesk::facts(bool fresh) {
  const auto read = [](std::shared_ptr<WorkDesk> self, bool now) -> Task<Result<std::shared_ptr<const WorkFacts>>> {
    co_return co_await self->facts_.read(now);
  };
  co_return co_await asio::co_spawn(strand_, read(shared_from_this(), fresh), asio::use_awaitable);
}

void WorkDesk::stop() {
  asio::post(strand_, [self = shared_from_this()] {
    self->stopping_ = true;
    for (const auto& [of, lane] : self->lanes_) {
      for (const auto& ask : lane->asks) ask->changed.notify_all();
      lane->changed.notify_all();
    }
  });
}

const jobs::OwnKind* WorkDesk::declared(const jobs::KindVersion& of) const {
  return known_ ? jobs::find_kind(known_->kinds, of.kind) : nullptr;
}

queue_service::KeyLimits WorkDesk::limits_of(const jobs::KindVersion& of) const {
  const auto* kind = declared(of);
  if (kind == nullptr || !kind->per_key) return {};
  return {kind->per_key->running, kind->per_key->per_second};
}

WorkDesk::LanePtr WorkDesk::lane_of(const jobs::KindVersion& of) {
  auto& lane = lanes_[of];
  if (lane) return lane;
  lane = std::make_shared<Lane>();
  lane->of = of;
  auto names = jobs::work_queues(of);
  for (std::size_t i = 0; i < names.size(); ++i) lane->queues[i].name = std::move(names[i]);
  return lane;
}

Task<Result<WorkDesk::Given>> WorkDesk::claim_here(Asked asked) {
  known_ = CO_TRY(co_await facts_.read());
  for (const auto& kind : asked.kinds) {
    if (declared(kind) == nullptr) known_ = CO_TRY(co_await facts_.read(true));
    if (declared(kind) != nullptr) continue;
    co_return fail(ErrorCode::kInvalidInput,
                   "The kind " + kind.kind + " is not declared. Declare it first: PUT /v1/kinds/" + kind.kind + ".");
  }
  note_worker(asked.worker, &asked.kinds, asked.count, 0);
  auto ask = std::make_shared<Ask>();
  ask->asked = std::move(asked);
  const auto& by = ask->asked;
  if (!by.request_id.empty()) {
    ask->row = jobs::claim_row(by.worker, by.request_id);
    if (auto before = CO_TRY(co_await notes_.find(ask->row))) {
      const auto facts = known_;
      co_return Given{CO_TRY(co_await work_.claimed_before(std::move(before->jobs), facts->kinds)), false};
    }
  }
  if (known_->quiet.contains(by.worker)) co_return Given{{}, true};
  if (waiting_ >= kMostWaiting) {
    co_return fail(ErrorCode::kServerBusy, "Too many workers wait for jobs. Try again later.");
  }
  ++waiting_;
  begin(ask);
  co_await await_jobs(ask);
  --waiting_;
  if (by.request_id.empty() && ask->is_gone()) co_await release_all(std::move(ask->jobs));
  const bool quiet = known_ && known_->quiet.contains(by.worker);
  co_return Given{std::move(ask->jobs), quiet};
}

/// Gives back jobs that were claimed for a caller who is gone and cannot ask for them again.
Task<void> WorkDesk::release_all(std::vector<jobs::ClaimedJob> jobs) {
  std::vector<jobs::WorkEnd> ends;
  for (const auto& job : jobs) {
    auto& end = ends.emplace_back();
    end.id = job.record.id;
    end.epoch = job.record.epoch;
    end.kind = jobs::EndKind::kRelease;
  }
  if (!ends.empty()) std::ignore = co_await work_.end(std::move(ends));  // if it fails, the leases end
}

void WorkDesk::begin(const AskPtr& ask) {
  ask->untried = ask->asked.kinds.size();
  for (const auto& kind : ask->asked.kinds) {
    const auto lane = lane_of(kind);
    lane->asks.push_back(ask);
    lane->changed.notify_all();
    if (lane->running) continue;
    lane->running = true;
    spawn(strand_, run(shared_from_this(), lane));
  }
}

/// Returns when the caller has jobs, or when there are none and it has waited for as long as it wanted.
Task<void> WorkDesk::await_jobs(AskPtr ask) {
  const auto& asked = ask->asked;
  const auto until = services_.clock.monotonic() + asked.wait;
  while (ask->jobs.empty()) {
    const auto ticket = ask->changed.ticket();
    const auto left = until - services_.clock.monotonic();
    const bool looked = ask->untried == 0 || left < -kLookAgain;
    const bool in_vain = stopping_ || ask->is_gone() || (left <= Duration::zero() && looked);
    if (in_vain && !ask->assigned) break;
    const auto slice = left > Duration::zero() ? std::min<Duration>(left, kLookAgain) : kAfterFailure;
    co_await ask->changed.wait(ticket, services_.clock, slice);
    if (asked.wait > kLookAgain) note_worker(asked.worker, &asked.kinds, asked.count, 0);
  }
  ask->over = true;
}

void WorkDesk::prune(Lane& lane) {
  std::erase_if(lane.asks, [](const AskPtr& ask) { return ask->over; });
}

/// Takes jobs for the callers of a lane until there are none.
Task<void> WorkDesk::run(std::shared_ptr<WorkDesk> self, LanePtr lane) {
  auto& clock = self->services_.clock;
  for (;;) {
    prune(*lane);
    if (lane->asks.empty() || self->stopping_) break;
    const auto ticket = lane->changed.ticket();
    if (auto fresh = co_await self->facts_.read()) self->known_ = std::move(*fresh);
    std::size_t wanted = 0;
    std::vector<AskPtr> looking;
    for (const auto& ask : lane->asks) {
      if (!ask->wants_jobs()) continue;
      if (ask->is_gone()) {
        ask->changed.notify_all();
        continue;
      }
      wanted += ask->asked.count;
      looking.push_back(ask);
    }
    const bool open = self->declared(lane->of) != nullptr && !self->known_->paused.contains(lane->of.kind);
    if (wanted > 0 && open && lane->giving < kBatchesAtOnce) {
      auto [place, messages] = co_await self->take(lane, std::min(wanted, jobs::kMostTogether));
      if (!messages.empty()) {
        auto assignments = assign(*lane, messages);
        for (auto& message : messages) co_await self->give_back(lane->queues.at(place).name, std::move(message));
        if (!assignments.empty()) {
          ++lane->giving;
          spawn(self->strand_, give(self, lane, place, std::move(assignments)));
        }
        continue;
      }
    }
    if (lane->giving < kBatchesAtOnce) {
      for (const auto& ask : looking) {
        if (ask->untried == 0) continue;
        --ask->untried;
        if (ask->untried == 0) ask->changed.notify_all();
      }
    }
    co_await lane->changed.wait(ticket, clock, kLookAgain);
  }
  lane->running = false;
  // Nobody names this version any more. A lane that is made anew begins with the queues.
  const auto found = self->lanes_.find(lane->of);
  if (lane->asks.empty() && found != self->lanes_.end() && found->second == lane) self->lanes_.erase(found);
}

Task<std::pair<std::size_t, std::vector<Message>>> WorkDesk::take(LanePtr lane, std::size_t most) {
  std::vector<Message> taken;
  if (!lane->arrived.empty()) {
    const auto place = lane->arrived.front().first;
    while (!lane->arrived.empty() && lane->arrived.front().first == place && taken.size() < most) {
      taken.push_back(std::move(lane->arrived.front().second));
      lane->arrived.pop_front();
    }
    co_return std::pair(place, std::move(taken));
  }
  const auto lease = declared(lane->of)->lease();
  for (const auto place : order_in(lane->round++)) {
    auto& queue = lane->queues.at(place);
    if (!queue.filled || services_.clock.monotonic() < queue.absent_until) continue;
    auto received = co_await services_.queues.receive_some(queue.name, lease, static_cast<std::uint32_t>(most),
                                                           limits_of(lane->of));
    if (received && !received->empty()) co_return std::pair(place, std::move(*received));
    if (received) {
      queue.filled = false;
      if (!std::exchange(queue.watched, true)) spawn(strand_, watch(shared_from_this(), lane, place));
      continue;
    }
    // Its first job makes the queue.
    const bool missing = received.failed_with(ErrorCode::kQueueNotFound);
    queue.absent_until = services_.clock.monotonic() + (missing ? kLookAgain : kAfterFailure);
  }
  co_return std::pair(kNormal, std::move(taken));
}

/// Waits for messages in an empty queue as long as anybody wants them.
Task<void> WorkDesk::watch(std::shared_ptr<WorkDesk> self, LanePtr lane, std::size_t place) {
  auto& queue = lane->queues.at(place);
  while (!lane->asks.empty() && !self->stopping_) {
    const auto* kind = self->declared(lane->of);
    if (kind == nullptr || self->known_->paused.contains(lane->of.kind)) break;
    auto received =
        co_await self->services_.queues.receive(queue.name, kind->lease(), kWatchSlice, self->limits_of(lane->of));
    prune(*lane);
    if (!received) {
      co_await sleep_for(self->services_.clock, kAfterFailure);
      break;
    }
    if (!*received) continue;
    if (lane->asks.empty() || self->stopping_) {
      co_await self->give_back(queue.name, std::move(**received));
      break;
    }
    lane->arrived.emplace_back(place, std::move(**received));
    break;
  }
  queue.filled = true;
  queue.watched = false;
  lane->changed.notify_all();
}

std::vector<WorkDesk::Assignment> WorkDesk::assign(Lane& lane, std::vector<Message>& messages) {
  std::vector<Assignment> out;
  auto next = messages.begin();
  for (const auto& ask : lane.asks) {
    if (next == messages.end()) break;
    if (!ask->wants_jobs() || ask->is_gone()) continue;
    const auto room = std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(ask->asked.count), messages.end() - next);
    ask->assigned = true;
    out.push_back({ask, {std::make_move_iterator(next), std::make_move_iterator(next + room)}});
    next += room;
  }
  messages.erase(messages.begin(), next);
  return out;
}

/// Notes which jobs the callers get, for those who may ask again with the same request id.
Task<Result<void>> WorkDesk::note(const std::vector<Assignment>& assignments) {
  std::vector<jobs::ClaimNote> notes;
  for (const auto& [ask, messages] : assignments) {
    if (ask->row.empty()) continue;
    auto& note = notes.emplace_back();
    note.row = ask->row;
    for (const auto& message : messages) {
      const auto id = job_id_of(message, jobs::parse_job_message(message.text), jobs::parse_story(message.annotation));
      note.jobs.emplace_back(id, message.epoch);
    }
  }
  if (notes.empty()) co_return Result<void>{};
  co_return co_await notes_.put(std::move(notes));
}

/// Claims the jobs of messages, and gives them to the callers for whom they were taken.
Task<void> WorkDesk::give(std::shared_ptr<WorkDesk> self, LanePtr lane, std::size_t place,
                          std::vector<Assignment> assignments) {
  const auto& queue = lane->queues.at(place).name;
  const auto noted = co_await self->note(assignments);
  std::vector<jobs::TakenMessage> taken;
  std::vector<AskPtr> owners;
  for (auto& [ask, messages] : assignments) {
    for (auto& message : messages) {
      owners.push_back(ask);
      taken.push_back({std::move(message), ask->asked.worker});
    }
  }
  if (noted) {
    auto claimed = co_await self->work_.claim(queue, std::move(taken));
    std::size_t given = 0;
    for (std::size_t i = 0; i < claimed.size(); ++i) {
      if (!claimed[i]) continue;
      ++given;
      owners[i]->jobs.push_back(std::move(*claimed[i]));
    }
    self->count("tidemark_work_claimed_total", "Jobs of users' own kinds that workers have claimed.", lane->of.kind, {},
                given);
  } else {
    process::log_failed_task("api.work.claim", noted.error());
    for (auto& each : taken) co_await self->give_back(queue, std::move(each.message));
  }
  --lane->giving;
  for (const auto& assignment : assignments) {
    assignment.ask->assigned = false;
    assignment.ask->changed.notify_all();
  }
  lane->changed.notify_all();
}

Task<void> WorkDesk::give_back(std::string queue, Message message) {
  auto lease = queue_service::lease_of(std::move(queue), message);
  std::ignore = co_await services_.queues.release(std::move(lease), Duration::zero(), std::move(message.annotation),
                                                  false);  // if it fails, the lease ends
}

Task<Result<WorkDesk::Beaten>> WorkDesk::beat_here(std::string worker, std::vector<jobs::JobBeat> beats) {
  const auto facts = known_ = CO_TRY(co_await facts_.read());
  note_worker(worker, nullptr, 0, beats.size());
  auto answers = CO_TRY(co_await work_.beat(std::move(beats), facts->kinds));
  co_return Beaten{std::move(answers), facts->quiet.contains(worker)};
}

Task<std::vector<Result<jobs::JobRecord>>> WorkDesk::end_here(std::vector<jobs::WorkEnd> ends) {
  auto ask = std::make_shared<EndAsk>();
  ask->ends = std::move(ends);
  ending_.push_back(ask);
  if (enders_ < kBatchesAtOnce) {
    ++enders_;
    spawn(strand_, run_ends(shared_from_this()));
  }
  while (!ask->done) {
    const auto ticket = ask->changed.ticket();
    co_await ask->changed.wait(ticket, services_.clock, kLookAgain);
  }
  co_return std::move(ask->outcomes);
}

/// Ends the jobs of all callers that have arrived by now, again and again.
Task<void> WorkDesk::run_ends(std::shared_ptr<WorkDesk> self) {
  while (!self->ending_.empty()) {
    std::vector<std::shared_ptr<EndAsk>> together;
    std::vector<jobs::WorkEnd> all;
    while (!self->ending_.empty() && all.size() + self->ending_.front()->ends.size() <= jobs::kMostTogether) {
      auto ask = std::move(self->ending_.front());
      self->ending_.pop_front();
      std::ranges::move(ask->ends, std::back_inserter(all));
      together.push_back(std::move(ask));
    }
    // The declarations matter only for ends with steps, which are refused if they cannot be read.
    if (auto fresh = co_await self->facts_.read()) self->known_ = std::move(*fresh);
    auto outcomes = co_await self->work_.end(std::move(all), self->known_ ? self->known_->kinds : jobs::OwnKinds());
    auto next = outcomes.begin();
    for (const auto& ask : together) {
      const auto size = static_cast<std::ptrdiff_t>(ask->ends.size());
      for (const auto& outcome : std::ranges::subrange(next, next + size)) {
        if (!outcome) continue;
        self->count("tidemark_work_ended_total", "Ends of jobs that workers of users have reported.", outcome->kind,
                    std::string(jobs::state_name(outcome->state)), 1);
      }
      ask->outcomes.assign(std::make_move_iterator(next), std::make_move_iterator(next + size));
      next += size;
      ask->done = true;
      ask->changed.notify_all();
    }
  }
  --self->enders_;
}

void WorkDesk::count(const char* name, const char* help, const std::string& kind, const std::string& outcome,
                     std::size_t amount) {
  if (amount == 0) return;
  std::map<std::string, std::string> labels{{"kind", kind}};
  if (!outcome.empty()) labels["state"] = outcome;
  metrics_.counter(name, help, labels).Increment(static_cast<double>(amount));
}

void WorkDesk::note_worker(const std::string& name, const std::vector<jobs::KindVersion>* kinds, std::size_t count,
                           std::size_t running) {
  const auto now = services_.clock.monotonic();
  if (seen_.size() >= kMostKnownWorkers) seen_.clear();
  const auto [found, is_new] = seen_.try_emplace(name);
  auto& seen = found->second;
  bool is_news = is_new;
  for (const auto& kind : kinds != nullptr ? *kinds : std::vector<jobs::KindVersion>()) {
    is_news = seen.kinds.insert_or_assign(kind, now).second || is_news;
  }
  if (!is_news && now - seen.written < jobs::kHeartbeatInterval) return;
  std::erase_if(seen.kinds, [&](const auto& each) { return now - each.second > kKindsKept; });
  jobs::WorkerInfo info;
  info.name = name;
  info.queues = queues_of(seen.kinds);
  info.heartbeat_at = services_.clock.now();
  if (is_new) seen.began = info.heartbeat_at;
  seen.written = now;
  info.started_at = seen.began;
  info.concurrency = static_cast<std::int32_t>(count);
  info.running = static_cast<std::int32_t>(running);
  const bool whole = !seen.kinds.empty();  // otherwise another api may know what it claims
  spawn(strand_, write_worker(shared_from_this(), std::move(info), whole));
}

Task<void> WorkDesk::write_worker(std::shared_ptr<WorkDesk> self, jobs::WorkerInfo info, bool whole) {
  auto name = info.name;
  const auto at = info.heartbeat_at;
  const auto written = whole ? co_await self->workers_.beat_own(std::move(info))
                             : co_await self->workers_.touch_own(std::move(name), at);
  if (!written) process::log_failed_task("api.work.worker", written.error());
}

}  // namespace tidemark::api
