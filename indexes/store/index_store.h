// Indexes as rows of the table TidemarkIndexes, for the api, the workers and tests; every SDK can read them. Three rows
// of an index, each written by one side alone:
//   'definitions' / NAME   what persons want, changed by compare-and-swap
//     Definition String (definition.h)   Id String   CreatedAt DateTime   Paused Dropping Boolean
//     RebuildsAsked ScrubsAsked Int32: how many a person has asked for
//   'progress' / ID        what the owner says (kProgressFields), under its fence
//   'owners' / ...         whose it is (jobs/store/owner_rows.h)
//   'owners' / 'job D'     the index job that may write the table D (workers/indexes/build_claims.h)
//   'changes' / 'last'     its version rises with every change by a person
//   'violations ID' / GROUP  a value of a unique index that several entities have, under the owner's fence:
//     Count Int64 (at least, if they are very many), Examples String: JSON of two of the entities' keys
//   'untold ID' / GROUP  likewise, until the endpoint's job has been submitted (onViolation)
//   'references ID GROUP'  of the kind denormalised: the keys of all entities that refer to one, in pieces
//     (indexes/rows/list_piece.h), under the owner's fence
//   'lists ID GROUP'  of lists in blobs: which blobs have the keys of a group (likewise)
//   'blobs ID'        blobs that were about to come or to go (workers/indexes/blob_pieces.h)
// The id is the name and something random, so what a dropped index left never meets another of its name.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "indexes/definition/definition.h"
#include "jobs/store/fields.h"
#include "jobs/store/job_record.h"
#include "jobs/store/owner_rows.h"
#include "jobs/store/rows.h"

namespace tidemark::indexes {

using jobs::kIndexTable;
using jobs::Owner;
inline constexpr std::size_t kMaxIndexes = 500;

struct Index {
  std::string name;
  std::string id;
  Definition definition;
  Time created_at{};
  bool paused = false;
  bool dropping = false;
  std::int32_t rebuilds_asked = 0;
  std::int32_t scrubs_asked = 0;
  table_store::Version version = 0;  // of the row
};

/// The life of an index. It is paused or not besides.
inline constexpr std::string_view kBuilding = "building";    // walks the table; writes already go in
inline constexpr std::string_view kVerifying = "verifying";  // compares both ways
inline constexpr std::string_view kReady = "ready";
inline constexpr std::string_view kStale = "stale";  // fell too far behind, and is about to be built again
inline constexpr std::string_view kDropping = "dropping";

/// The partition of the rows 'progress' / ID.
inline constexpr const char* kProgressPartition = "progress";

struct Progress {
  std::string state{kBuilding};
  std::int64_t position = 0;  // a version: all changes up to it are in the rows
  std::string walk;           // JSON: where the walk over the table or the rows is
  std::string visits;         // JSON: whose referring entities are still to be visited (workers/indexes/visits.h)
  std::uint64_t walked = 0;   // entities and rows of the walk under way
  std::uint64_t total = 0;    // an estimate of how many there will be; 0: unknown
  Time walk_began{};
  std::int32_t rebuilds = 0;  // how many of those asked for were begun
  std::int32_t scrubs = 0;    // how many of those asked for have ended
  std::uint64_t changes = 0;  // dealt with since the index was made
  std::uint64_t checked = 0;  // by the last scrub that ended: entities and rows
  std::uint64_t wrong = 0;    // of which were wrong, and mended
  std::uint64_t wrong_ever = 0;
  std::int64_t proven = 0;  // the version up to which the last scrub proved the index true
  Time proven_at{};
  std::uint64_t in_the_way = 0;  // rows that are not written because somebody else's are there
  std::string in_the_way_examples;
  std::string last_error;  // of the owner; it tries again
  Time last_error_at{};
  std::uint64_t errors = 0;          // in a row
  table_store::Version version = 0;  // of the row, which says when it was written
};

// clang-format off
inline constexpr std::tuple kProgressFields{
    jobs::Field{"State", &Progress::state},
    jobs::Field{"Position", &Progress::position},
    jobs::Field{"Walk", &Progress::walk, jobs::kSparse},
    jobs::Field{"Visits", &Progress::visits, jobs::kSparse},
    jobs::Field{"Walked", &Progress::walked, jobs::kSparse},
    jobs::Field{"Total", &Progress::total, jobs::kSparse},
    jobs::Field{"WalkBegan", &Progress::walk_began},
    jobs::Field{"Rebuilds", &Progress::rebuilds},
    jobs::Field{"Scrubs", &Progress::scrubs},
    jobs::Field{"Changes", &Progress::changes},
    jobs::Field{"Checked", &Progress::checked},
    jobs::Field{"Wrong", &Progress::wrong},
    jobs::Field{"WrongEver", &Progress::wrong_ever},
    jobs::Field{"Proven", &Progress::proven},
    jobs::Field{"ProvenAt", &Progress::proven_at},
    jobs::Field{"InTheWay", &Progress::in_the_way, jobs::kSparse},
    jobs::Field{"InTheWayExamples", &Progress::in_the_way_examples, jobs::kSparse},
    jobs::Field{"LastError", &Progress::last_error, jobs::kSparse},
    jobs::Field{"LastErrorAt", &Progress::last_error_at},
    jobs::Field{"Errors", &Progress::errors, jobs::kSparse},
};
// clang-format on

/// A group of a unique index that has more than one entity.
struct Violation {
  std::string group;
  std::int64_t count = 0;
  std::string examples;  // JSON: [[PartitionKey, RowKey], ...]
};
struct ViolationPage {
  std::vector<Violation> violations;           // by group
  std::vector<table_store::Version> versions;  // of their rows
  std::string continuation;                    // empty at the end
};
/// Sets or takes away the row of a group.
table_store::PartitionMutations violation_row(const std::string& id, std::string_view group,
                                              const std::optional<Violation>& violation);

/// Notes that somebody is to be told of it, unless that is noted.
table_store::PartitionMutations untold_row(const std::string& id, const Violation& violation);
/// Which of these groups have violations already.
Task<Result<std::vector<bool>>> are_violated(table_store::TableClient& tables, std::string id,
                                             std::vector<std::string> groups);

class IndexStore : public jobs::OwnerRows {
 public:
  IndexStore(table_store::TableClient& tables, Clock& clock, Random& random)
      : OwnerRows(tables, kIndexTable, 4 * kMaxIndexes), tables_(tables), clock_(clock), random_(random) {}

  // Of persons. Names match in their own case only.

  Task<Result<std::optional<Index>>> find(std::string name);
  /// By name.
  Task<Result<std::vector<Index>>> all();
  /// Whether a row declares this index, be it one that all() leaves out.
  Task<Result<bool>> has_definition(std::string name, std::string id);
  struct Stored {
    Index index;
    bool created = false;
  };
  /// Declares an index, or finds that there is one with the same definition; kIndexInvalid if there is another one of
  /// this name: drop it first. kTooManyIndexes.
  Task<Result<Stored>> put(std::string name, Definition definition);
  /// What a person may change of an index; kIndexNotFound.
  struct Wish {
    std::optional<bool> paused = {};
    bool rebuild = false;
    bool scrub = false;
    bool drop = false;
  };
  Task<Result<Index>> ask(std::string name, Wish wish);
  /// Rises with each change by a person; 0 before the first.
  Task<Result<table_store::Version>> changes();
  /// `limit` 1..1000.
  Task<Result<ViolationPage>> violations(std::string id, std::uint32_t limit, std::string continuation);

  // Of owners.

  /// A page of those that nobody was told of.
  Task<Result<ViolationPage>> untold(std::string id);
  Task<Result<void>> note_told(std::string id, std::string group, table_store::Version version);

  /// Empty if the owner has not written any yet.
  Task<Result<std::optional<Progress>>> progress(std::string id);
  /// All of them by id.
  Task<Result<std::vector<std::pair<std::string, Progress>>>> all_progress();
  /// kFenced if another owner has taken over.
  Task<Result<void>> write_progress(std::string id, Progress progress, table_store::Fence fence);
  /// Removes all rows of an index that has been dropped.
  Task<Result<void>> forget(Index index);

 private:
  Task<Result<ViolationPage>> violations_in(std::string partition, std::uint32_t limit, std::string continuation);
  Task<Result<void>> forget_violations(std::string id);

  table_store::TableClient& tables_;
  Clock& clock_;
  Random& random_;
};

}  // namespace tidemark::indexes
