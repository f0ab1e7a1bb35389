// The declared kinds of users, as rows of the jobs' table ('kinds' / NAME, with the property Definition). A job keeps
// the values that its submission took from the declaration; the lease and the limits of keys are those of the present
// one.
#pragma once
#include "jobs/spec/own_kinds.h"
#include "jobs/store/partition_rows.h"

namespace tidemark::jobs {

inline constexpr std::size_t kMostOwnKinds = 200;

class OwnKindStore {
 public:
  explicit OwnKindStore(table_store::TableClient& tables);

  struct Stored {
    OwnKind kind;
    bool created = false;
  };
  /// Declares the kind, or replaces its declaration. kInvalidInput if there are kMostOwnKinds others.
  Task<Result<Stored>> put(OwnKind kind);
  /// Returns all declared kinds, by name.
  Task<Result<OwnKinds>> all() const;
  Task<Result<std::optional<OwnKind>>> find(std::string name) const;
  /// Returns false if there was none.
  Task<Result<bool>> remove(std::string name);

 private:
  PartitionRows rows_;
};

}  // namespace tidemark::jobs
