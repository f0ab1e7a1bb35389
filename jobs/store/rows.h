// Rows of the table of jobs, limits, schedules, groups and workers: their properties, and the change of a row by
// compare-and-swap. Every SDK may write there: a property of an unexpected type counts as absent. The mutations serve
// the entities of any table.
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

/// How long a list searches before it answers with the entries that it has by then. A person waits for it.
inline constexpr Duration kSearchPatience = std::chrono::milliseconds(150);

/// No other key lies between a key and the same key with this character added: row keys cannot have control characters.
inline constexpr char kJustBehind = '\x01';

/// Returns the text as a literal of a filter.
std::string literal(std::string_view text);
/// Returns a query of a partition's rows; `filter` restricts it further.
table_store::QueryRequest rows_of(std::string_view partition, std::string_view filter = {});
/// Inserts the row or, if it was seen, replaces that version.
table_store::Mutation write_of(std::string row_key, std::optional<table_store::Version> seen,
                               std::vector<table_store::Property> properties);
/// Writes a copy of the entity that has this version; an entity that is no copy stays.
table_store::Mutation copy_of(std::string row_key, table_store::Version source,
                              std::vector<table_store::Property> properties);
/// Erases the version that was seen, or any version.
table_store::Mutation erasure_of(std::string row_key, std::optional<table_store::Version> seen);
/// Returns the row's new version; nothing if the row is not as the mutation requires. Makes a dropped table again.
Task<Result<std::optional<table_store::Version>>> change_row(table_store::TableClient& tables, std::string table,
                                                             std::string partition, table_store::Mutation mutation,
                                                             std::optional<table_store::Fence> fence);
/// Likewise for the jobs' table, without a fence.
Task<Result<std::optional<table_store::Version>>> change_row(table_store::TableClient& tables, std::string partition,
                                                             table_store::Mutation mutation);

/// Creates the table if it is missing.
Task<Result<void>> ensure_table(table_store::TableClient& tables, std::string table);

}  // namespace tidemark::jobs
