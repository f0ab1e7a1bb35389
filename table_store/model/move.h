// All the work of a job on one entity, as one transaction: moves the entity to the same keys of another table, or
// removes it from the store. Either all of this happens or nothing: "put if newer" into the destination, removal from
// the source, 1 added to the fence's counter, the operation closed, and the companion's change, if its condition holds.
#pragma once
#include <optional>
#include <string>

#include "table_store/model/mutation.h"

namespace tidemark::table_store {

/// A change elsewhere in the same transaction, such as that of the job's record.
struct Companion {
  std::string table;
  std::string partition_key;
  Mutation mutation;  // must not be lenient
};

struct Move {
  std::string source;
  std::string destination;  // empty to remove the entity
  std::string partition_key;
  std::string row_key;
  /// For a restore: the entity is a copy, and the new row carries the version of its original.
  bool back = false;
  Fence fence;
  std::optional<Companion> companion;
};

}  // namespace tidemark::table_store
