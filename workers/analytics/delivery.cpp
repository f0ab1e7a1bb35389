#include "workers/analytics/delivery.h"

#include <map>

#include "table_store/model/limits.h"

namespace tidemark::workers {
namespace {

using analytics::Grain;
using table_store::Mutation;
using table_store::MutationKind;

std::string whole_seconds(Time time) { return to_iso8601(std::chrono::floor<std::chrono::seconds>(time)); }

blob_store::NewContent content_of(const analytics::LogBatch& batch) {
  blob_store::NewContent content;
  content.headers.type = "application/octet-stream";
  content.metadata = {{"LogType", analytics::log_type(batch.accesses)},
                      {"StartTime", whole_seconds(batch.first)},
                      {"EndTime", whole_seconds(batch.last)},
                      {"LogVersion", batch.version_2 ? "2.0" : "1.0"}};
  return content;
}

Result<Mutation> mutation_of(const analytics::MetricsRow& row) {
  Mutation mutation;
  mutation.kind = MutationKind::kInsertOrReplace;
  mutation.row_key = "user;" + row.operation;
  mutation.source_version = static_cast<table_store::Version>(row.version);
  for (auto& column : analytics::columns_of(TRY(analytics::decode_counters(row.counters)))) {
    std::visit([&](auto value) { mutation.properties.push_back({std::move(column.name), value}); }, column.value);
  }
  return mutation;
}

/// The rows of a partition are in the order of their keys, because a transaction may name each row once.
using Partition = std::pair<std::string, std::pair<std::string, std::string>>;  // account, (table, key)

}  // namespace

Fence analytics_fence() { return {"analytics", 1, {}}; }

Task<Result<void>> AnalyticsDelivery::deliver(std::string service, const analytics::Collected& collected) {
  for (const auto& wants : collected.accounts) CO_TRY(co_await prepare(service, wants));
  for (const auto& batch : collected.logs) CO_TRY(co_await put_log(service, batch));
  co_return co_await put_rows(service, collected.rows);
}

Task<Result<void>> AnalyticsDelivery::prepare(std::string service, analytics::AccountWants wants) {
  if (wants.logs) CO_TRY(co_await ensure_container(wants.account));
  if (wants.hours) {
    CO_TRY(co_await ensure_table(wants.account, analytics::metrics_table(Grain::kHour, service)));
    if (service == "blob") CO_TRY(co_await ensure_table(wants.account, std::string(analytics::kCapacityTable)));
  }
  if (wants.minutes) CO_TRY(co_await ensure_table(wants.account, analytics::metrics_table(Grain::kMinute, service)));
  co_return Result<void>();
}

Task<Result<void>> AnalyticsDelivery::ensure_container(std::string account) {
  const blob_store::calls::EnsureContainer ensure{account, std::string(analytics::kLogContainer)};
  if (there_.contains({account, ensure.container})) co_return Result<void>();
  CO_TRY(co_await rpc::call(links_.blobs, ensure, kDeadline));
  there_.emplace(account, ensure.container);
  co_return Result<void>();
}

Task<Result<void>> AnalyticsDelivery::ensure_table(std::string account, std::string table) {
  if (there_.contains({account, table})) co_return Result<void>();
  const table_store::calls::CreateTable create{account, table};
  auto made = co_await rpc::call(links_.tables, create, kDeadline);
  if (!made && made.error().code != ErrorCode::kTableAlreadyExists) co_return fail(std::move(made.error()));
  there_.emplace(std::move(account), std::move(table));
  co_return Result<void>();
}

Task<Result<void>> AnalyticsDelivery::put_log(std::string service, analytics::LogBatch batch) {
  CO_TRY(co_await ensure_container(batch.account));
  blob_store::calls::Put put;
  put.content = content_of(batch);
  put.account = std::move(batch.account);
  put.container = analytics::kLogContainer;
  put.name = analytics::log_name(service, batch.hour, batch.number);
  put.bytes = std::move(batch.text);
  put.write = {analytics_fence(), kLogSourceVersion};
  const auto done = co_await rpc::call(links_.blobs, put, kDeadline);
  if (!done) there_.clear();  // the store may have been replaced by an empty one
  CO_TRY(done);
  co_return Result<void>();
}

Task<Result<void>> AnalyticsDelivery::put_rows(std::string service, const std::vector<analytics::MetricsRow>& rows) {
  std::map<Partition, std::vector<Mutation>> partitions;
  for (const auto& row : rows) {
    auto table = analytics::metrics_table(row.grain, service);
    CO_TRY(co_await ensure_table(row.account, table));
    partitions[{row.account, {std::move(table), analytics::partition_of(row.period)}}].push_back(
        CO_TRY(mutation_of(row)));
  }
  for (auto& [partition, mutations] : partitions) {
    for (std::size_t at = 0; at < mutations.size(); at += table_store::kMaxMutations) {
      const auto end = std::min(mutations.size(), at + table_store::kMaxMutations);
      table_store::calls::Mutate mutate{partition.first, partition.second.first, partition.second.second, {}, {}};
      mutate.mutations.assign(mutations.begin() + static_cast<std::ptrdiff_t>(at),
                              mutations.begin() + static_cast<std::ptrdiff_t>(end));
      auto done = co_await rpc::call(links_.tables, mutate, kDeadline);
      if (!done) there_.clear();
      auto outcome = CO_TRY(std::move(done));
      if (auto* failure = std::get_if<table_store::calls::MutationFailure>(&outcome)) {
        co_return fail(std::move(failure->error));
      }
    }
  }
  co_return Result<void>();
}

}  // namespace tidemark::workers
