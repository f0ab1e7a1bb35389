#include "jobs/store/partition_rows.h"

namespace tidemark::jobs {

using table_store::Entity;
using table_store::MutationKind;
using table_store::Property;
using table_store::Version;

constexpr std::uint32_t kMostOfPage = 1000;

Task<Result<std::optional<Entity>>> PartitionRows::find(std::string row_key) const {
  auto read = co_await tables_.get(table_, partition_, std::move(row_key));
  if (read.failed_with(ErrorCode::kTableNotFound)) co_return std::nullopt;
  co_return read;
}

Task<Result<table_store::QueryPage>> PartitionRows::page(std::uint32_t limit, std::string continuation) const {
  auto request = rows_of(partition_);
  request.table = table_;
  request.top = std::clamp(limit, 1U, kMostOfPage);
  request.continuation = std::move(continuation);
  auto read = co_await tables_.query(std::move(request));
  if (read.failed_with(ErrorCode::kTableNotFound)) co_return table_store::QueryPage{};
  co_return read;
}

Task<Result<std::vector<Entity>>> PartitionRows::all(std::size_t most) const {
  std::vector<Entity> out;
  std::string continuation;
  do {
    auto read = CO_TRY(co_await page(kMostOfPage, std::move(continuation)));
    std::ranges::move(read.entities, std::back_inserter(out));
    continuation = std::move(read.continuation);
  } while (!continuation.empty() && out.size() < most);
  co_return out;
}

Task<Result<bool>> PartitionRows::swap(std::string row_key, Version& version, std::vector<Property> properties,
                                       std::optional<table_store::Fence> fence) const {
  const auto seen = version == 0 ? std::nullopt : std::optional(version);
  auto mutation = write_of(std::move(row_key), seen, std::move(properties));
  const auto written = CO_TRY(co_await change_row(tables_, table_, partition_, std::move(mutation), std::move(fence)));
  if (written) version = *written;
  co_return written.has_value();
}

Task<Result<void>> PartitionRows::put(std::string row_key, std::vector<Property> properties,
                                      std::optional<table_store::Fence> fence) const {
  table_store::Mutation mutation;
  mutation.kind = MutationKind::kInsertOrReplace;
  mutation.row_key = std::move(row_key);
  mutation.properties = std::move(properties);
  CO_TRY(co_await change_row(tables_, table_, partition_, std::move(mutation), std::move(fence)));
  co_return Result<void>{};
}

Task<Result<bool>> PartitionRows::erase(std::string row_key, std::optional<Version> seen) const {
  auto mutation = erasure_of(std::move(row_key), seen);
  const auto erased = CO_TRY(co_await change_row(tables_, table_, partition_, std::move(mutation), std::nullopt));
  co_return erased.has_value();
}

Task<Result<Version>> ChangeMark::read() const {
  const auto row = CO_TRY(co_await rows_.find(kRow));
  co_return row ? row->version : 0;
}

}  // namespace tidemark::jobs
