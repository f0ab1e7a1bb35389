// Indexes as rows of the table TidemarkIndexes, for the api, the workers and tests; every SDK can read them. Three rows
// of an index, each written by one side alone:
//   'definitions' / NAME   the wishes of persons, changed by compare-and-swap
//     Definition String (definition.h)   Id String   CreatedAt DateTime   Paused Dropping Boolean
//     RebuildsAsked ScrubsAsked Int32: how many persons have asked for
//   'progress' / ID        the owner's report (kProgressFields), under its fence
//   'owners' / ...         the owner (jobs/store/owner_rows.h)
//   'owners' / 'job D'     the index job that may write the table D (workers/indexes/build_claims.h)
//   'changes' / 'last'     its version rises with every change by a person
//   'violations ID' / GROUP  a value of a unique index that several entities have, under the owner's fence:
//     Count Int64 (a lower bound if there are very many), Examples String: JSON of two of the entities' keys
//   'untold ID' / GROUP  the same, until the endpoint's job has been submitted (onViolation)
//   'references ID GROUP'  for the kind denormalised: the keys of all entities that refer to one, in pieces
//     (indexes/rows/list_piece.h), under the owner's fence
//   'lists ID GROUP'  for lists in blobs: the names of the blobs with the keys of a group, under the owner's fence
//   'blobs ID'        blobs that the owner was about to write or remove (workers/indexes/blob_pieces.h)
// The id is the name and a random part, so the remains of a dropped index never meet another index of its name.
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

/// The states of an index. In each of them, it may be paused.
inline constexpr std::string_view kBuilding = "building";    // walks the table; the rows already follow writes
inline constexpr std::string_view kVerifying = "verifying";  // compares rows and entities in both directions
inline constexpr std::string_view kReady = "ready";
inline constexpr std::string_view kStale = "stale";  // fell too far behind, and is about to be built again
inline constexpr std::string_view kDropping = "dropping";

/// The partition of the rows 'progress' / ID.
inline constexpr const char* kProgressPartition = "progress";

struct Progress {
  std::string state{kBuilding};
  std::int64_t position = 0;  // a version: all changes up to it are in the rows
  std::string walk;           // JSON: the place of the walk over the table or the rows
  std::string visits;         // JSON: entities whose referrers are still to be visited (workers/indexes/visits.h)
  std::uint64_t walked = 0;   // entities and rows of the walk under way
  std::uint64_t total = 0;    // an estimate of how many there will be; 0: unknown
  Time walk_began{};
  std::int32_t rebuilds = 0;  // requested rebuilds that were begun
  std::int32_t scrubs = 0;    // requested scrubs that have ended
  std::uint64_t changes = 0;  // changes that were dealt with since the index was made
  std::uint64_t checked = 0;  // entities and rows that the last finished scrub compared
  std::uint64_t wrong = 0;    // those that were wrong, and were mended
  std::uint64_t wrong_ever = 0;
  std::int64_t proven = 0;  // the version up to which the last scrub proved the index true
  Time proven_at{};
  std::uint64_t in_the_way = 0;  // rows that are not written because somebody else's are there
  std::string in_the_way_examples;
  std::string last_error;  // of the owner, which tries again
  Time last_error_at{};
  std::uint64_t errors = 0;          // since the last success
  table_store::Version version = 0;  // of the row; says when it was written
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
  std::vector<Violation> violations;           // in the order of their groups
  std::vector<table_store::Version> versions;  // of their rows
  std::string continuation;                    // empty at the end
};
/// Returns the mutations that write or remove the violation's row of a group.
table_store::PartitionMutations violation_row(const std::string& id, std::string_view group,
                                              const std::optional<Violation>& violation);

/// Returns the mutations that note that the endpoint must be told of the violation, unless that is noted already.
table_store::PartitionMutations untold_row(const std::string& id, const Violation& violation);
/// Tells for each of these groups whether a violation is noted.
Task<Result<std::vector<bool>>> are_violated(table_store::TableClient& tables, std::string id,
                                             std::vector<std::string> groups);
/// Returns a page of the noted violations.
Task<Result<ViolationPage>> noted_violations(table_store::TableClient& tables, std::string id,
                                             std::string continuation);

/// The operation of an index. All writes of the index's owners are fenced by it.
inline std::string operation_of(const std::string& id) { return "index/" + id; }

class IndexStore : public jobs::OwnerRows {
 public:
  IndexStore(table_store::TableClient& tables, Clock& clock, Random& random);

  // For persons. Names are case-sensitive.

  Task<Result<std::optional<Index>>> find(std::string name);
  /// Returns all indexes in the order of their names.
  Task<Result<std::vector<Index>>> all();
  /// Tells whether a row declares this index, even if all() leaves that row out.
  Task<Result<bool>> has_definition(std::string name, std::string id);
  struct Stored {
    Index index;
    bool created = false;
  };
  /// Declares an index, or finds one with the same definition. kIndexInvalid if the name belongs to an index with
  /// another definition, which must be dropped first. kTooManyIndexes.
  Task<Result<Stored>> put(std::string name, Definition definition);
  /// The changes that a person may ask of an index; kIndexNotFound.
  struct Wish {
    std::optional<bool> paused = {};
    bool rebuild = false;
    bool scrub = false;
    bool drop = false;
  };
  Task<Result<Index>> ask(std::string name, Wish wish);
  /// Returns a number that rises with each change by a person; 0 before the first.
  Task<Result<table_store::Version>> changes();
  /// `limit` 1..1000.
  Task<Result<ViolationPage>> violations(std::string id, std::uint32_t limit, std::string continuation);

  // For owners.

  /// Returns a page of the violations that the endpoint was not told of.
  Task<Result<ViolationPage>> untold(std::string id);
  Task<Result<void>> note_told(std::string id, std::string group, table_store::Version version);

  /// Returns nothing if no owner has written its progress yet.
  Task<Result<std::optional<Progress>>> progress(std::string id);
  /// Returns the progress of all indexes by their ids.
  Task<Result<std::vector<std::pair<std::string, Progress>>>> all_progress();
  /// kFenced if another owner has taken over.
  Task<Result<void>> write_progress(std::string id, Progress progress, table_store::Fence fence);
  /// Removes all rows of a dropped index except the owner's row. That row goes last, when the operation is closed: it
  /// says that something may be left. Without it, the next owner would begin with the first epoch and be fenced for
  /// ever.
  Task<Result<void>> forget(Index index);

 private:
  Task<Result<bool>> swap(Index& index);
  Task<Result<void>> forget_violations(std::string id);

  table_store::TableClient& tables_;
  jobs::PartitionRows definitions_, progress_;
  jobs::ChangeMark mark_;
  Clock& clock_;
  Random& random_;
};

}  // namespace tidemark::indexes
