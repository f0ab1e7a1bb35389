// The figures of the queues as Prometheus metrics, read when they are asked for. The first `most` queues have series of
// their own; the others are summed up as queue="(other)", so that the number of series is bounded.
#pragma once
#include <prometheus/collectable.h>

#include <vector>

#include "queue_service/storage/queue_service.h"

namespace tidemark::queue_service::rest {

class QueueMetrics final : public prometheus::Collectable {
 public:
  QueueMetrics(QueueService& service, std::size_t most) : service_(service), most_(most) {}
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  QueueService& service_;
  std::size_t most_;
};

}  // namespace tidemark::queue_service::rest
