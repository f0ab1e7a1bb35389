#include "workers/analytics/retention.h"

#include <map>

#include "table_store/model/limits.h"

namespace tidemark::workers {
namespace {

using analytics::Grain;

constexpr int kMaxPages = 10;  // at once, of a table or of the logs

Duration days(std::uint32_t count) { return std::chrono::hours(24) * count; }

table_store::Mutation erasure_of(const std::string& row_key) {
  table_store::Mutation mutation;
  mutation.kind = table_store::MutationKind::kErase;
  mutation.row_key = row_key;
  mutation.lenient = true;
  return mutation;
}

}  // namespace

Task<Result<void>> AnalyticsRetention::remove_old(std::string service, analytics::AccountWants wants, Time now) {
  if (wants.log_days) CO_TRY(co_await remove_logs(service, wants.account, now - days(*wants.log_days)));
  for (const auto& [kept, grain] : {std::pair{wants.hour_days, Grain::kHour}, {wants.minute_days, Grain::kMinute}}) {
    if (!kept) continue;
    const auto before = now - days(*kept);
    CO_TRY(co_await remove_rows(wants.account, analytics::metrics_table(grain, service), before));
    if (grain != Grain::kHour || service != "blob") continue;
    CO_TRY(co_await remove_rows(wants.account, std::string(analytics::kCapacityTable), before));
  }
  co_return Result<void>();
}

Task<Result<void>> AnalyticsRetention::remove_logs(std::string service, std::string account, Time before) {
  blob_store::calls::List list{account, std::string(analytics::kLogContainer), service + "/", {}};
  for (int page = 0; page < kMaxPages; ++page) {
    auto names = co_await rpc::call(links_.blobs, list, kDeadline);
    if (names.failed_with(ErrorCode::kContainerNotFound)) break;
    auto found = CO_TRY(std::move(names));
    for (const auto& name : found.names) {
      const auto hour = analytics::hour_in_log_name(service, name);
      // Names are in the order of time, so the rest is younger.
      if (hour && analytics::end_of_period(Grain::kHour, *hour) > before) co_return Result<void>();
      if (!hour) continue;
      const blob_store::calls::Erase erase{account, list.container, name, {analytics_fence(), kLogSourceVersion}};
      CO_TRY(co_await rpc::call(links_.blobs, erase, kDeadline));
    }
    if (found.next.empty()) break;
    list.from = std::move(found.next);
  }
  co_return Result<void>();
}

Task<Result<void>> AnalyticsRetention::remove_rows(std::string account, std::string table, Time before) {
  table_store::calls::Query query{account, {}};
  query.query.table = table;
  query.query.filter = "PartitionKey lt '" + analytics::partition_of(before) + "'";
  for (int page = 0; page < kMaxPages; ++page) {
    auto rows = co_await rpc::call(links_.tables, query, kDeadline);
    if (rows.failed_with(ErrorCode::kTableNotFound)) break;
    auto found = CO_TRY(std::move(rows));
    std::map<std::string, std::vector<table_store::Mutation>> partitions;
    for (const auto& entity : found.entities) {
      auto& erasures = partitions[entity.partition_key];
      if (erasures.size() < table_store::kMaxMutations) erasures.push_back(erasure_of(entity.row_key));
    }
    for (auto& [key, erasures] : partitions) {
      table_store::calls::Mutate mutate{account, table, key, std::move(erasures), {}};
      CO_TRY(co_await rpc::call(links_.tables, mutate, kDeadline));
    }
    if (found.entities.empty() || found.continuation.empty()) break;
  }
  co_return Result<void>();
}

}  // namespace tidemark::workers
