// Rows of the table that jobs, limits, schedules, groups and workers are kept in: what is in them, and the change of
// one by compare-and-swap. Every SDK may write there: what is not of the expected type counts as absent. The mutations
// serve the entities of any table.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/async.h"
#include "table_store/client/table_client.h"

namespace tidemark::jobs {

template <class T>
const T* property(const table_store::Entity& entity, std::string_view name) {
  const auto* value = entity.find(name);
  return value == nullptr ? nullptr : std::get_if<T>(value);
}

template <class T>
T property_or(const table_store::Entity& entity, std::string_view name, T fallback = {}) {
  const auto* found = property<T>(entity, name);
  return found == nullptr ? fallback : *found;
}

/// How long a list looks for what matches before it answers with what it has by then. A person waits for it.
inline constexpr Duration kSearchPatience = std::chrono::milliseconds(150);

/// No other key lies between a key and the key with this behind it: row keys cannot have control characters.
inline constexpr char kJustBehind = '\x01';

/// A text in a filter.
std::string literal(std::string_view text);
/// A query of a partition's rows; `filter` restricts it further.
table_store::QueryRequest rows_of(std::string_view partition, std::string_view filter = {});
/// Inserts the row or, if it was seen, replaces that version.
table_store::Mutation write_of(std::string row_key, std::optional<table_store::Version> seen,
                               std::vector<table_store::Property> properties);
/// A copy of the entity that has this version; what is no copy stays.
table_store::Mutation copy_of(std::string row_key, table_store::Version source,
                              std::vector<table_store::Property> properties);
/// Of the version that was seen, or of any.
table_store::Mutation erasure_of(std::string row_key, std::optional<table_store::Version> seen);
/// The row's new version; nothing if the row is not as the mutation asks for. Makes the table again if somebody dropped
/// it.
Task<Result<std::optional<table_store::Version>>> change_row(table_store::TableClient& tables, std::string table,
                                                             std::string partition, table_store::Mutation mutation,
                                                             std::optional<table_store::Fence> fence);
/// Of the jobs' table, without a fence.
Task<Result<std::optional<table_store::Version>>> change_row(table_store::TableClient& tables, std::string partition,
                                                             table_store::Mutation mutation);

/// Creates the table if it is missing.
Task<Result<void>> ensure_table(table_store::TableClient& tables, std::string table);

}  // namespace tidemark::jobs
