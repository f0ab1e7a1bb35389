// The progress of an index as readers see it: combined from the rows that its owner has written and from the table
// store's log, so that it stays true while the owner is dead.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "indexes/store/index_store.h"
#include "table_store/model/changes.h"

namespace tidemark::indexes {

struct Status {
  Index index;
  Progress progress;
  std::optional<table_store::FollowerStatus> follower;  // nothing: no owner has begun yet
  Owner owner;
  std::optional<Time> owner_seen;  // when the owner's worker last reported that it lives
  Duration age{};                  // since all this was read

  /// The state in the progress, unless a person has requested another one meanwhile or the log has given up on the
  /// index.
  [[nodiscard]] std::string_view state() const;
  /// The version up to which the rows had all changes that existed when this was read.
  [[nodiscard]] table_store::Version position() const;
  /// The greatest possible age of the oldest change that is not in the rows; nothing if that is unknown.
  [[nodiscard]] std::optional<Duration> lag(Time now) const;
  /// Tells whether all changes up to this version are in the rows, and the rows are complete.
  [[nodiscard]] bool has_reached(table_store::Version version) const;
};

/// Reads the status without asking the owner.
Task<Result<Status>> status_of(table_store::TableClient& tables, IndexStore& store, Index index);
/// Reads the status of many indexes in few calls.
Task<Result<std::vector<Status>>> status_of_all(table_store::TableClient& tables, IndexStore& store,
                                                std::vector<Index> indexes);

}  // namespace tidemark::indexes
