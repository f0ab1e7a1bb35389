#include "workers/analytics/capacity.h"

namespace tidemark::workers {
namespace {

struct Usage {
  std::uint64_t bytes = 0, containers = 0, blobs = 0;
};

table_store::Mutation row_of(std::string key, const Usage& usage) {
  table_store::Mutation mutation;
  mutation.kind = table_store::MutationKind::kInsertOrReplace;
  mutation.row_key = std::move(key);
  mutation.source_version = 1;  // the first count of a day stays
  for (const auto& [name, value] :
       {std::pair{"Capacity", usage.bytes}, {"ContainerCount", usage.containers}, {"ObjectCount", usage.blobs}}) {
    mutation.properties.push_back({name, static_cast<std::int64_t>(value)});
  }
  return mutation;
}

}  // namespace

Task<Result<void>> note_capacity(AnalyticsLinks links, std::string account, Time now) {
  const std::string table(analytics::kCapacityTable);
  const auto day = analytics::partition_of(std::chrono::floor<std::chrono::days>(now));
  const table_store::calls::Get get{account, table, day, "data"};
  const auto noted = CO_TRY(co_await rpc::call(links.tables, get, kDeadline));
  if (noted) co_return Result<void>();
  Usage users, logs;
  blob_store::calls::Usage page{account, {}, {}};
  do {
    auto part = CO_TRY(co_await rpc::call(links.blobs, page, kDeadline));
    auto& usage = part.container == analytics::kLogContainer ? logs : users;
    usage.bytes += part.bytes;
    usage.blobs += part.blobs;
    if (!part.container.empty() && page.from.empty()) ++usage.containers;
    page.container = std::move(part.next_container);
    page.from = std::move(part.next);
  } while (!page.container.empty());
  const table_store::calls::Mutate put{account, table, day, {row_of("analytics", logs), row_of("data", users)}, {}};
  auto done = CO_TRY(co_await rpc::call(links.tables, put, kDeadline));
  if (auto* failure = std::get_if<table_store::calls::MutationFailure>(&done))
    co_return fail(std::move(failure->error));
  co_return Result<void>();
}

}  // namespace tidemark::workers
