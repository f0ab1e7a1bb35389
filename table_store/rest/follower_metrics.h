// The progress of the followers of tables, as Prometheus metrics. Read on each request, so they are correct even while
// a follower is dead. Bounded: of very many followers, only the first ones are shown.
#pragma once
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <vector>

#include "table_store/storage/table_service.h"

namespace tidemark::table_store {

class FollowerMetrics final : public prometheus::Collectable {
 public:
  /// `service` and `clock` must outlive it.
  FollowerMetrics(TableService& service, Clock& clock) : service_(service), clock_(clock) {}
  /// Thread safe.
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  TableService& service_;
  Clock& clock_;
};

}  // namespace tidemark::table_store
