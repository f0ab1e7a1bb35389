// Owners, among the workers, of tasks that need exactly one, as rows of a table (workers/runtime/keeper.h):
//   'owners' / ID          the owner: Owner String, Epoch Int64, Beat Int64
//   'owners' / 'keeper W'  the heartbeat of worker W: likewise
#pragma once
#include <map>
#include <string>

#include "jobs/store/partition_rows.h"

namespace tidemark::jobs {

/// The beginning of the row key of a worker's own row among the owners; the worker's name follows.
inline constexpr std::string_view kKeeperRow = "keeper ";

struct Owner {
  std::string worker;  // empty: no owner
  std::uint64_t epoch = 0;
  std::uint64_t beat = 0;            // rises while the owner lives
  table_store::Version version = 0;  // the version of the row; 0: there is none
};

class OwnerRows {
 public:
  /// Reads at most `most` rows.
  OwnerRows(table_store::TableClient& tables, std::string_view table, std::size_t most);

  Task<Result<Owner>> owner(std::string id);
  /// Returns all owner rows by id, including those of the keepers themselves.
  Task<Result<std::map<std::string, Owner>>> all_owners();
  /// Writes by compare-and-swap; returns false if the row was changed meanwhile. Sets the new version.
  Task<Result<bool>> swap_owner(std::string id, Owner& owner);
  /// Removes the row unless it has changed since.
  Task<Result<void>> remove_owner(std::string id, Owner owner);
  /// Removes the row of any owner.
  Task<Result<void>> forget_owner(std::string id);

 private:
  PartitionRows owners_;
  std::size_t most_;
};

}  // namespace tidemark::jobs
