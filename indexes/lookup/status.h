// How far an index is, as whoever reads sees it: put together from what its owner has written and from the table
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
  std::optional<Time> owner_seen;  // when the worker of the owner last showed that it lives
  Duration age{};                  // since all this was read

  /// As in the progress, unless a person has asked for something else meanwhile or the log has given up on it.
  [[nodiscard]] std::string_view state() const;
  /// The version up to which all changes are in the rows that had been made when this was read.
  [[nodiscard]] table_store::Version position() const;
  /// How old the oldest change is that is not in the rows, at most; nothing if that is not known.
  [[nodiscard]] std::optional<Duration> lag(Time now) const;
  /// Whether all changes up to this version are in the rows, and the rows are complete.
  [[nodiscard]] bool has_reached(table_store::Version version) const;
};

/// Without the owner.
Task<Result<Status>> status_of(table_store::TableClient& tables, IndexStore& store, Index index);
/// The same for many, in few calls.
Task<Result<std::vector<Status>>> status_of_all(table_store::TableClient& tables, IndexStore& store,
                                                std::vector<Index> indexes);

}  // namespace tidemark::indexes
