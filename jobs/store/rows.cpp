#include "jobs/store/rows.h"

#include "jobs/store/job_record.h"

namespace tidemark::jobs {

using table_store::Mutation;
using table_store::MutationKind;
using table_store::Version;

std::string literal(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

table_store::QueryRequest rows_of(std::string_view partition, std::string_view filter) {
  table_store::QueryRequest request;
  request.table = std::string(kJobTable);
  request.filter = "PartitionKey eq '" + std::string(partition) + "'";
  if (!filter.empty()) request.filter += " and " + std::string(filter);
  return request;
}

Mutation write_of(std::string row_key, std::optional<Version> seen, std::vector<table_store::Property> properties) {
  Mutation mutation;
  mutation.kind = seen ? MutationKind::kReplace : MutationKind::kInsert;
  mutation.row_key = std::move(row_key);
  mutation.if_version = seen;
  mutation.lenient = true;
  mutation.properties = std::move(properties);
  return mutation;
}

Mutation copy_of(std::string row_key, Version source, std::vector<table_store::Property> properties) {
  auto mutation = write_of(std::move(row_key), {}, std::move(properties));
  mutation.kind = MutationKind::kInsertOrReplace;
  mutation.source_version = source;
  return mutation;
}

Mutation erasure_of(std::string row_key, std::optional<Version> seen) {
  auto mutation = write_of(std::move(row_key), seen, {});
  mutation.kind = MutationKind::kErase;
  return mutation;
}

Task<Result<std::optional<Version>>> change_row(table_store::TableClient& tables, std::string table,
                                                std::string partition, Mutation mutation,
                                                std::optional<table_store::Fence> fence) {
  const std::vector<Mutation> mutations{std::move(mutation)};
  auto changed = co_await tables.mutate(table, partition, mutations, fence);
  if (!changed && changed.error().code == ErrorCode::kTableNotFound) {
    CO_TRY(co_await ensure_table(tables, table));
    changed = co_await tables.mutate(std::move(table), std::move(partition), mutations, std::move(fence));
  }
  const auto outcomes = CO_TRY(std::move(changed));
  const auto& outcome = outcomes.front();
  if (outcome.kind != table_store::WriteOutcome::kApplied) co_return std::optional<Version>();
  co_return std::optional<Version>(outcome.version);
}

Task<Result<std::optional<Version>>> change_row(table_store::TableClient& tables, std::string partition,
                                                Mutation mutation) {
  return change_row(tables, std::string(kJobTable), std::move(partition), std::move(mutation), std::nullopt);
}

Task<Result<void>> ensure_table(table_store::TableClient& tables, std::string table) {
  auto created = co_await tables.create_table(std::move(table));
  if (!created && created.error().code != ErrorCode::kTableAlreadyExists) co_return fail(std::move(created.error()));
  co_return Result<void>{};
}

}  // namespace tidemark::jobs
