// Whose the things are that need one owner among the workers, as rows of a table (workers/runtime/keeper.h):
//   'owners' / ID          whose it is: Owner String, Epoch Int64, Beat Int64
//   'owners' / 'keeper W'  that worker W lives: likewise
#pragma once
#include <map>
#include <string>

#include "table_store/client/table_client.h"

namespace tidemark::jobs {

/// What the row key of a worker's own row among the owners begins with; its name follows.
inline constexpr std::string_view kKeeperRow = "keeper ";

struct Owner {
  std::string worker;  // empty: nobody's
  std::uint64_t epoch = 0;
  std::uint64_t beat = 0;            // rises while the owner lives
  table_store::Version version = 0;  // of the row; 0: there is none
};

class OwnerRows {
 public:
  /// At most `most` rows are read.
  OwnerRows(table_store::TableClient& tables, std::string_view table, std::size_t most)
      : tables_(tables), table_(table), most_(most) {}

  Task<Result<Owner>> owner(std::string id);
  /// All owner rows by id, those of the keepers themselves too.
  Task<Result<std::map<std::string, Owner>>> all_owners();
  /// By compare-and-swap; false if somebody else changed the row. Sets the new version.
  Task<Result<bool>> swap_owner(std::string id, Owner& owner);
  /// Unless it has changed since.
  Task<Result<void>> remove_owner(std::string id, Owner owner);
  /// Whoever it is.
  Task<Result<void>> forget_owner(std::string id);

 private:
  table_store::TableClient& tables_;
  std::string table_;
  std::size_t most_;
};

}  // namespace tidemark::jobs
