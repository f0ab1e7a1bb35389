// Carries the records that the stores keep of their requests to the places where users find them, from time to time,
// for all accounts of the stack. Every worker runs one. A store gives its records to one collector at a time; a
// collector that takes over from a worker that died finds the rest, and delivering a record again changes nothing
// (delivery.h).
#pragma once
#include <map>
#include <memory>

#include "common/base/async.h"
#include "workers/analytics/delivery.h"
#include "workers/analytics/retention.h"

namespace tidemark::workers {

struct AnalyticsOptions {
  std::string worker;
  Duration collect_every = std::chrono::seconds(30);
  Duration remove_every = std::chrono::minutes(10);
};

class AnalyticsCollector : public std::enable_shared_from_this<AnalyticsCollector> {
 public:
  /// By service: "blob", "queue", "table". The links and the clock outlive the executor's work.
  using Stores = std::map<std::string, rpc::Transport*>;
  static std::shared_ptr<AnalyticsCollector> create(AnalyticsOptions options, Stores stores, Clock& clock);
  void start(Executor strand);
  void stop();
  /// Collects everything that waits in one store.
  Task<Result<void>> collect(std::string service);

 private:
  AnalyticsCollector(AnalyticsOptions options, Stores stores, Clock& clock);
  static Task<void> run(std::shared_ptr<AnalyticsCollector> self);
  /// Does the periodic work for an account.
  Task<Result<void>> tidy(std::string service, analytics::AccountWants wants);

  AnalyticsOptions options_;
  Stores stores_;
  AnalyticsLinks links_;
  Clock& clock_;
  AnalyticsDelivery delivery_;
  AnalyticsRetention retention_;
  std::map<std::pair<std::string, std::string>, Duration> tidied_;  // the last time, by service and account
  bool stopping_ = false;
  Signal wake_;
};

}  // namespace tidemark::workers
