#include "common/service/store_check.h"

#include <sys/resource.h>
#include <unistd.h>

#include "common/base/log.h"

namespace tidemark::service {
namespace {

constexpr auto kBeforeTheFirst = std::chrono::minutes(1);

double now_in_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

void declare(process::Settings& settings, ScrubSettings& values) {
  settings.add("scrub_mib_per_s", values.mib_per_s, 0, 100000,
               "how fast a store reads what it holds, in the background, to find damage; 0: never");
  settings.add("scrub_interval_h", values.interval_h, 1, 8760, "time from the begin of one such round to the next");
}

StoreCheck::StoreCheck(Check check, const ScrubSettings& settings, process::Metrics& metrics)
    : check_(std::move(check)),
      bytes_per_s_(static_cast<std::uint64_t>(settings.mib_per_s) << 20),
      interval_(settings.interval_h),
      figures_(std::make_shared<process::Figures>([this] { return figures(); })),
      thread_([this](const std::stop_token& stop) { run(stop); }) {
  metrics.add(figures_);
}

std::uint64_t StoreCheck::begin() {
  const std::lock_guard lock(mutex_);
  ++wanted_;
  changed_.notify_all();
  return state_.round + 1;
}

CheckState StoreCheck::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void StoreCheck::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void StoreCheck::run(const std::stop_token& stop) {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 19);  // the priority of this thread
  auto next = Clock::now() + kBeforeTheFirst;
  while (!stop.stop_requested()) {
    bool hurried = false;
    {
      std::unique_lock lock(mutex_);
      const auto asked = [this] { return wanted_ > served_; };
      if (bytes_per_s_ == 0) {
        changed_.wait(lock, stop, asked);
      } else {
        changed_.wait_until(lock, stop, next, asked);
      }
      hurried = asked();
      if (stop.stop_requested() || (!hurried && Clock::now() < next)) continue;
      served_ = wanted_;
    }
    const auto begun = Clock::now();
    run_round(stop, hurried);
    next = std::max(begun + interval_, Clock::now() + kBeforeTheFirst);
  }
}

void StoreCheck::run_round(const std::stop_token& stop, bool hurried) {
  {
    const std::lock_guard lock(mutex_);
    const auto round = state_.round + 1;
    state_ = {};
    state_.round = round;
    state_.running = true;
  }
  kv::CheckRun check([&](std::uint64_t bytes) { return pace(bytes, check.report(), stop, hurried); },
                     [](const kv::Finding& finding) {
                       log_error("damage found kind={} where=\"{}\" what=\"{}\"", finding.kind, finding.where,
                                 finding.what);
                     });
  const auto done = check_(check);
  const bool ended_early = done.failed_with(ErrorCode::kCancelled);
  if (!done && !ended_early) {
    log_error("a check did not come to its end code={} detail=\"{}\"", azure_name_of(done.error().code),
              done.error().detail);
  }
  publish(check.report(), false, done ? "" : done.error().message);
  if (!done) return;
  const std::lock_guard lock(mutex_);
  ++ended_;
  last_found_ = check.report().found;
  last_ended_at_ = now_in_seconds();
}

/// Waits until so many bytes may have been read. Returns false if the round has to end: the store ends, or a round at
/// full speed is wanted.
bool StoreCheck::pace(std::uint64_t bytes, const kv::CheckReport& so_far, const std::stop_token& stop, bool hurried) {
  std::unique_lock lock(mutex_);
  read_bytes_ += bytes;
  state_.rows = so_far.rows;
  state_.files = so_far.files;
  state_.bytes = so_far.bytes;
  state_.found = so_far.found;
  const auto other = [this] { return wanted_ > served_; };
  if (!hurried) {
    const std::chrono::duration<double> due(static_cast<double>(bytes) / static_cast<double>(bytes_per_s_));
    changed_.wait_for(lock, stop, due, other);
  }
  return !stop.stop_requested() && !other();
}

void StoreCheck::publish(const kv::CheckReport& report, bool running, std::string trouble) {
  const std::lock_guard lock(mutex_);
  state_.running = running;
  state_.trouble = std::move(trouble);
  state_.rows = report.rows;
  state_.files = report.files;
  state_.bytes = report.bytes;
  state_.found = report.found;
  for (const auto& finding : report.findings) state_.findings.push_back({finding.kind, finding.where, finding.what});
}

std::vector<prometheus::MetricFamily> StoreCheck::figures() const {
  using prometheus::MetricType;
  const std::lock_guard lock(mutex_);
  const auto figure = [](const char* name, const char* help, MetricType type, auto value) {
    return process::figure(name, help, type, static_cast<double>(value));
  };
  return {figure("tidemark_scrub_rounds_total", "Checks of everything that is stored that came to their end.",
                 MetricType::Counter, ended_),
          figure("tidemark_scrub_read_bytes_total", "Bytes that checks have read.", MetricType::Counter, read_bytes_),
          figure("tidemark_scrub_findings", "What the last check that came to its end found wrong.", MetricType::Gauge,
                 last_found_),
          figure("tidemark_scrub_running", "Whether a check is under way.", MetricType::Gauge, state_.running ? 1 : 0),
          figure("tidemark_scrub_last_end_time_seconds", "When the last check came to its end; 0: none did yet.",
                 MetricType::Gauge, last_ended_at_)};
}

}  // namespace tidemark::service
