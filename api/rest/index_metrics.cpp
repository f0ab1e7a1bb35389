#include "api/rest/index_metrics.h"

#include "api/rest/api_routes.h"

#include <prometheus/text_serializer.h>

#include "common/process/failures.h"
#include "indexes/lookup/status.h"

namespace tidemark::api {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr std::size_t kMostIndexes = 100;
constexpr std::string_view kStates[] = {indexes::kBuilding, indexes::kVerifying, indexes::kReady, indexes::kStale,
                                        indexes::kDropping};

Task<Result<std::vector<indexes::Status>>> read_statuses(Api& api) {
  auto all = CO_TRY(co_await api.indexes.all());
  all.resize(std::min(all.size(), kMostIndexes));
  co_return co_await indexes::status_of_all(api.tables, api.indexes, std::move(all));
}

std::string text_of(const std::vector<indexes::Status>& statuses, Time now) {
  constexpr auto kGauge = MetricType::Gauge;
  constexpr auto kCounter = MetricType::Counter;
  MetricFamily state{"tidemark_index_state", "1 for the state that an index is in.", kGauge, {}};
  MetricFamily paused{"tidemark_index_paused", "1: a person has paused the index.", kGauge, {}};
  MetricFamily lag{"tidemark_index_lag_seconds", "How far the rows of an index are behind, at most.", kGauge, {}};
  MetricFamily checked{
      "tidemark_index_checked_rows", "Entities and rows that the last scrub of an index compared.", kGauge, {}};
  MetricFamily wrong{
      "tidemark_index_wrong_rows_total", "Rows that scrubs of an index found wrong, and mended.", kCounter, {}};
  MetricFamily in_the_way{
      "tidemark_index_rows_in_the_way", "Rows that an index cannot write because others are there.", kGauge, {}};
  for (const auto& status : statuses) {
    const std::vector<prometheus::ClientMetric::Label> labels{{"index", status.index.name}};
    for (const auto& each : kStates) {
      auto with_state = labels;
      with_state.push_back({"state", std::string(each)});
      process::add_value(state, each == status.state() ? 1 : 0, std::move(with_state));
    }
    process::add_value(paused, status.index.paused ? 1 : 0, labels);
    const auto behind = status.lag(now);
    if (behind) process::add_value(lag, std::chrono::duration<double>(*behind).count(), labels);
    process::add_value(checked, static_cast<double>(status.progress.checked), labels);
    process::add_value(wrong, static_cast<double>(status.progress.wrong_ever), labels);
    process::add_value(in_the_way, static_cast<double>(status.progress.in_the_way), labels);
  }
  return prometheus::TextSerializer().Serialize({state, paused, lag, checked, wrong, in_the_way});
}

}  // namespace

Task<Result<std::string>> index_metrics(Api& api) {
  const auto statuses = CO_TRY(co_await read_statuses(api));
  co_return text_of(statuses, api.clock.now());
}

}  // namespace tidemark::api
