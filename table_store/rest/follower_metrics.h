// How far the followers of tables are, as Prometheus metrics. Read when somebody asks, so that they are true while a
// follower is dead. Bounded: of very many followers, the first.
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
