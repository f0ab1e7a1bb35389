// The figures of the queues as Prometheus metrics. The first `most` queues have their own series; the others are added
// up as queue="(other)", so that the number of series is bounded. Reading many queues takes long, so it happens in
// slices, between which requests go on, for one caller at a time and at most every few seconds.
#pragma once
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <vector>

#include "common/base/async.h"
#include "common/base/mutex.h"
#include "queue_service/storage/queue_service.h"

namespace tidemark::queue_service::rest {

class QueueMetrics final : public prometheus::Collectable {
 public:
  /// `service` and `clock` must outlive it.
  QueueMetrics(QueueService& service, Clock& clock, std::size_t most) : service_(service), clock_(clock), most_(most) {}

  /// Reads the figures again if they are too old, unless another caller is reading them at this moment.
  Task<void> refresh();
  /// Returns the figures that were read last. Thread safe.
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  bool begin();
  Task<std::vector<FiguresPage::Item>> read_all();

  QueueService& service_;
  Clock& clock_;
  const std::size_t most_;
  mutable Mutex mutex_;
  std::vector<prometheus::MetricFamily> families_ GUARDED_BY(mutex_);
  bool reading_ GUARDED_BY(mutex_) = false;
  Time fresh_until_ GUARDED_BY(mutex_) = Time::min();
};

}  // namespace tidemark::queue_service::rest
