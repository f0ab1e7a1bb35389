// The rows of one partition of a table of Tidemark's own, such as the definitions of indexes. A table that does not
// exist has no rows, and the first write makes it. Every SDK may write there, so rows that do not have the expected
// form are possible. Thread safe.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "jobs/store/rows.h"

namespace tidemark::jobs {

class PartitionRows {
 public:
  /// The client must outlive it.
  PartitionRows(table_store::TableClient& tables, std::string_view table, std::string partition)
      : tables_(tables), table_(table), partition_(std::move(partition)) {}

  Task<Result<std::optional<table_store::Entity>>> find(std::string row_key) const;
  /// Returns one page of at most `limit` (1..1000) rows, in their order.
  Task<Result<table_store::QueryPage>> page(std::uint32_t limit, std::string continuation) const;
  /// Returns all rows in their order; stops after the page with which there are `most`.
  Task<Result<std::vector<table_store::Entity>>> all(std::size_t most = SIZE_MAX) const;

  /// Inserts the row if `version` is 0, else replaces this version of it. Sets the new version; returns false if the
  /// row was changed meanwhile.
  Task<Result<bool>> swap(std::string row_key, table_store::Version& version,
                          std::vector<table_store::Property> properties,
                          std::optional<table_store::Fence> fence = {}) const;
  Task<Result<void>> put(std::string row_key, std::vector<table_store::Property> properties,
                         std::optional<table_store::Fence> fence = {}) const;
  /// Erases the version that was seen, or any version. Returns false if there is no such row.
  Task<Result<bool>> erase(std::string row_key, std::optional<table_store::Version> seen = {}) const;

 private:
  table_store::TableClient& tables_;
  std::string table_, partition_;
};

/// A row whose version rises with each change that a person makes to a kind of resource, so that workers need not read
/// all of them to see that none has changed.
class ChangeMark {
 public:
  ChangeMark(table_store::TableClient& tables, std::string_view table, std::string partition = "changes")
      : rows_(tables, table, std::move(partition)) {}
  Task<Result<void>> raise() const { return rows_.put(kRow, {}); }
  /// Returns 0 before the first change.
  Task<Result<table_store::Version>> read() const;

 private:
  static constexpr const char* kRow = "last";
  PartitionRows rows_;
};

/// Repeats an attempt to change a row by compare-and-swap: it returns nothing if somebody else has changed the row
/// meanwhile. kServerBusy, with a message about `what`, such as "Index sales", if that goes on.
template <class T>
Task<Result<T>> until_swapped(std::string what, std::function<Task<Result<std::optional<T>>>()> attempt) {
  constexpr int kMostRaces = 16;
  for (int race = 0; race < kMostRaces; ++race) {
    if (auto done = CO_TRY(co_await attempt())) co_return std::move(*done);
  }
  co_return fail(ErrorCode::kServerBusy, what + " is being changed by others. Please retry.");
}

}  // namespace tidemark::jobs
