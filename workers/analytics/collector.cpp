#include "workers/analytics/collector.h"

#include "common/process/failures.h"
#include "workers/analytics/capacity.h"
#include "workers/runtime/fail_points.h"

namespace tidemark::workers {
namespace {

constexpr int kMaxRounds = 100;  // for one store, before another one has its turn

analytics::calls::Settle settlement_of(const analytics::Collected& collected) {
  analytics::calls::Settle settle;
  for (const auto& log : collected.logs) settle.logs.push_back({log.account, log.hour, log.number});
  for (const auto& row : collected.rows) {
    settle.rows.push_back({row.account, row.grain, row.period, row.operation, row.version});
  }
  return settle;
}

}  // namespace

std::shared_ptr<AnalyticsCollector> AnalyticsCollector::create(AnalyticsOptions options, Stores stores, Clock& clock) {
  return std::shared_ptr<AnalyticsCollector>(new AnalyticsCollector(std::move(options), std::move(stores), clock));
}

AnalyticsCollector::AnalyticsCollector(AnalyticsOptions options, Stores stores, Clock& clock)
    : options_(std::move(options)),
      stores_(std::move(stores)),
      links_{*stores_.at("blob"), *stores_.at("table")},
      clock_(clock),
      delivery_(links_),
      retention_(links_) {}

void AnalyticsCollector::start(Executor strand) { spawn(std::move(strand), run(shared_from_this())); }

void AnalyticsCollector::stop() {
  stopping_ = true;
  wake_.notify_all();
}

Task<void> AnalyticsCollector::run(std::shared_ptr<AnalyticsCollector> self) {
  while (!self->stopping_) {
    for (const auto& [service, link] : self->stores_) {
      if (self->stopping_) break;
      const auto done = co_await self->collect(service);
      if (!done) process::log_failed_task("worker.analytics", done.error());
    }
    if (!self->stopping_) co_await self->wake_.wait(self->clock_, self->options_.collect_every);
  }
}

Task<Result<void>> AnalyticsCollector::collect(std::string service) {
  auto& link = *stores_.at(service);
  const analytics::calls::Collect ask{options_.worker};
  for (int round = 0; round < kMaxRounds && !stopping_; ++round) {
    auto collected = CO_TRY(co_await rpc::call(link, ask, kDeadline));
    CO_TRY(co_await fail_points::kAnalyticsDeliver.around(delivery_.deliver(service, collected)));
    for (const auto& wants : collected.accounts) CO_TRY(co_await tidy(service, wants));
    if (collected.logs.empty() && collected.rows.empty()) break;
    CO_TRY(co_await rpc::call(link, settlement_of(collected), kDeadline));
  }
  co_return Result<void>();
}

Task<Result<void>> AnalyticsCollector::tidy(std::string service, analytics::AccountWants wants) {
  const auto now = clock_.monotonic();
  const auto [last, fresh] = tidied_.try_emplace({service, wants.account}, now);
  if (!fresh && now - last->second < options_.remove_every) co_return Result<void>();
  last->second = now;
  CO_TRY(co_await retention_.remove_old(service, wants, clock_.now()));
  if (service != "blob" || !wants.hours) co_return Result<void>();
  co_return co_await note_capacity(links_, wants.account, clock_.now());
}

}  // namespace tidemark::workers
