// The figures of the queues as Prometheus metrics, read on demand. The first `most` queues have their own series; the
// others are added up as queue="(other)", so that the number of series is bounded.
#pragma once
#include <prometheus/metric_family.h>

#include <vector>

#include "queue_service/storage/queue_service.h"

namespace tidemark::queue_service::rest {

std::vector<prometheus::MetricFamily> queue_figures(QueueService& service, std::size_t most);

}  // namespace tidemark::queue_service::rest
