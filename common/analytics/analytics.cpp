#include "common/analytics/analytics.h"

#include "common/process/failures.h"
#include "common/rpc/call.h"

namespace tidemark::analytics {
namespace {

/// A collector that has not asked for this long may be replaced. If it is still alive, both write the same.
constexpr Duration kTurn = std::chrono::seconds(30);

using Face = rpc::Face<Analytics>;
Task<Result<Collected>> collect(Analytics& analytics, calls::Collect call) {
  return analytics.collect(std::move(call));
}
Task<Result<void>> settle(Analytics& analytics, calls::Settle call) { return analytics.settle(std::move(call)); }
constexpr Face::Handler kHandlers[] = {
    Face::on<calls::Collect, &collect>(),
    Face::on<calls::Settle, &settle>(),
};

AccountWants wants_of(const std::string& account, const Wanted& wanted) {
  return {account,         wanted.logs(),    wanted.hour.enabled, wanted.minute.enabled,
          wanted.log_days, wanted.hour.days, wanted.minute.days};
}

}  // namespace

void declare(process::Settings& settings, AnalyticsSettings& values) {
  settings.add("analytics_flush_s", values.flush_s, 1, 600,
               "how often the logs and metrics of requests, for accounts that want them, are made durable");
  settings.add("analytics_buffer_mib", values.buffer_mib, 1, 1024,
               "memory for logs between two such times; what is beyond is lost and counted");
  settings.add("analytics_backlog_mib", values.backlog_mib, 1, 65536,
               "disk for logs that no worker has collected yet; what is beyond is lost and counted");
}

Analytics::Analytics(kv::Engine& engine, Clock& clock, const AnalyticsSettings& settings, process::Metrics& metrics)
    : clock_(clock),
      flush_every_(std::chrono::seconds(settings.flush_s)),
      recorder_(static_cast<std::size_t>(settings.buffer_mib) << 20, [this] { wake_.notify_all(); }),
      backlog_(engine, static_cast<std::size_t>(settings.backlog_mib) << 20),
      figures_(std::make_shared<process::Figures>([this] { return figures(); })) {
  metrics.add(figures_);
}

Task<void> Analytics::run() {
  while (!stopping_.load()) {
    co_await wake_.wait(clock_, flush_every_);
    if (stopping_.load()) break;
    const auto kept = co_await flush();
    if (!kept) process::log_failed_task("analytics.keep", kept.error());
  }
}

void Analytics::stop() {
  stopping_.store(true);
  wake_.notify_all();
}

void Analytics::finish() {
  if (auto last = recorder_.take(clock_.now()); !last.empty()) backlog_.keep_at_end(std::move(last), clock_.now());
  if (!unkept_.empty()) backlog_.keep_at_end(std::exchange(unkept_, {}), clock_.now());
}

Task<Result<void>> Analytics::flush() {
  // The part that could not be kept last time goes first, and alone: the recorder is bounded meanwhile.
  auto recorded = unkept_.empty() ? recorder_.take(clock_.now()) : std::exchange(unkept_, {});
  if (recorded.empty()) co_return Result<void>();
  const auto lost = co_await backlog_.keep(recorded, clock_.now());
  if (!lost) unkept_ = std::move(recorded);
  recorder_.lose(CO_TRY(lost));
  co_return Result<void>();
}

bool Analytics::take_turn(const std::string& collector) {
  const MutexLock lock(turn_mutex_);
  const auto now = clock_.monotonic();
  if (collector != collector_ && now < turn_ends_) return false;
  collector_ = collector;
  turn_ends_ = now + kTurn;
  return true;
}

Task<Result<Collected>> Analytics::collect(calls::Collect call) {
  if (!take_turn(call.collector)) co_return Collected();
  auto collected = CO_TRY(co_await backlog_.collect(clock_.now()));
  for (const auto& [account, wanted] : recorder_.wanted()) collected.accounts.push_back(wants_of(account, wanted));
  co_return collected;
}

Task<Result<void>> Analytics::settle(calls::Settle call) { return backlog_.settle(std::move(call)); }

rpc::Dispatch Analytics::beside(rpc::Dispatch store) { return rpc::make_dispatch(*this, kHandlers, std::move(store)); }

std::vector<prometheus::MetricFamily> Analytics::figures() const {
  return {process::figure("tidemark_analytics_lost_lines_total",
                          "Lines of request logs that were lost because there was no room for them.",
                          prometheus::MetricType::Counter, static_cast<double>(recorder_.lost())),
          process::figure("tidemark_analytics_backlog_bytes", "Request logs that no worker has collected yet.",
                          prometheus::MetricType::Gauge, static_cast<double>(backlog_.log_bytes()))};
}

}  // namespace tidemark::analytics
