// A move of one entity to the same keys of another table, or out of the store, with all that belongs to it, as one
// transaction: what an operation of one entity consists of. Either everything happens or nothing:
//   put-if-newer into the destination, erasure from the source, 1 added to the fence's counter, the operation closed,
//   and the companion's change, whose condition holds.
#pragma once
#include <optional>
#include <string>

#include "table_store/model/mutation.h"

namespace tidemark::table_store {

/// A change elsewhere in the same transaction: of the record that tells of the move.
struct Companion {
  std::string table;
  std::string partition_key;
  Mutation mutation;  // not lenient
};

struct Move {
  std::string source;
  std::string destination;  // empty: the entity is removed
  std::string partition_key;
  std::string row_key;
  /// The copy carries the version of what the entity itself is a copy of: it comes back.
  bool back = false;
  Fence fence;
  std::optional<Companion> companion;
};

}  // namespace tidemark::table_store
