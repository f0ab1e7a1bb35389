// The figures of the queues as Prometheus metrics, read when they are asked for. The first `most` queues have series of
// their own; the others are summed up as queue="(other)", so that the number of series is bounded.
#pragma once
#include <prometheus/metric_family.h>

#include <vector>

#include "queue_service/storage/queue_service.h"

namespace tidemark::queue_service::rest {

std::vector<prometheus::MetricFamily> queue_metrics(QueueService& service, std::size_t most);

}  // namespace tidemark::queue_service::rest
