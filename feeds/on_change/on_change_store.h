// Declarations of on-change followers, as rows of the table TidemarkOnChange, which every SDK can read:
//   'definitions' / TABLE NAME   the wishes of persons, changed by compare-and-swap; the table in lower case
//     Definition String (on_change.h)   Id Table Start String   CreatedAt DateTime
//     ResumesAsked Int32, ResumeAfter String: how often a person has asked to go on, and from which token on, if given
//     Paused Boolean, if it is
//   'progress' / ID              the owner's report (OnChangeProgress), under its fence
//   'owners' / ...               the owner (jobs/store/owner_rows.h)
//   'changes' / 'last'           its version rises with every change by a person
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "feeds/on_change/on_change.h"
#include "jobs/store/owner_rows.h"

namespace tidemark::feeds {

inline constexpr std::string_view kOnChangeTable = "TidemarkOnChange";
inline constexpr std::size_t kMaxOnChanges = 200;  // in an account
inline constexpr std::string_view kRunning = "running";
inline constexpr std::string_view kStopped = "stopped";  // until a person asks it to go on
inline constexpr std::string_view kPaused = "paused";    // likewise; a person's wish, never written by an owner

struct OnChange {
  std::string table, name;
  std::string id;
  OnChangeDefinition definition;
  std::string start;  // the token to begin at
  std::string resume_after;
  Time created_at{};
  std::int32_t resumes_asked = 0;
  bool paused = false;
  table_store::Version version = 0;  // of the row
};

struct OnChangeProgress {
  std::string state{kRunning};
  std::string token;            // all changes up to it were told
  std::uint64_t told = 0;       // changes that were told
  std::uint64_t passed_by = 0;  // changes that the filter did not select
  std::string failed;           // the token before the change that could not be told
  std::uint32_t attempts = 0;   // attempts to tell that change
  std::string last_error;
  Time last_error_at{};
  std::int32_t resumes = 0;      // requests to go on that were heeded
  std::string day;               // the day of made_today: 2026-01-31
  std::uint64_t made_today = 0;  // jobs
  table_store::Version version = 0;
};

class OnChangeStore : public jobs::OwnerRows {
 public:
  OnChangeStore(table_store::TableClient& tables, Clock& clock, Random& random);

  /// Returns one declaration; kOnChangeNotFound.
  Task<Result<OnChange>> get(std::string table, std::string name);
  /// Returns all declarations, by table and name. Rows that do not have the expected form are left out.
  Task<Result<std::vector<OnChange>>> all();
  struct Stored {
    OnChange on_change;
    bool created = false;
  };
  /// Stores a declaration, or finds that the same one is there already. kOnChangeInvalid if a different one has the
  /// name. kTooManyOnChanges.
  Task<Result<Stored>> put(std::string table, std::string name, OnChangeDefinition definition, std::string start);
  /// Makes it wait until it is resumed.
  Task<Result<OnChange>> pause(std::string table, std::string name);
  /// Asks a paused or stopped follower to go on, from another place if a token is given.
  Task<Result<OnChange>> resume(std::string table, std::string name, std::string after);
  /// Removes all rows of a declaration, and the remains of earlier removals that were interrupted. Its owner is fenced.
  Task<Result<void>> remove(std::string table, std::string name);
  /// Removes the remains of declarations that are gone.
  Task<Result<void>> finish_removals();
  /// Returns a number that rises with each change by a person; 0 before the first.
  Task<Result<table_store::Version>> changes();

  /// Returns an empty progress if no owner has written one yet.
  Task<Result<OnChangeProgress>> progress(std::string id);
  /// kFenced if another owner has taken over.
  Task<Result<void>> write_progress(std::string id, OnChangeProgress progress, table_store::Fence fence);

 private:
  Task<Result<bool>> swap(OnChange& on_change);
  Task<Result<OnChange>> change(std::string table, std::string name, std::function<void(OnChange&)> change);
  Task<Result<void>> remove_rest(std::string id);

  table_store::TableClient& tables_;
  jobs::PartitionRows definitions_, progress_;
  jobs::ChangeMark mark_;
  Clock& clock_;
  Random& random_;
};

/// The operation in the fences of an owner's writes.
std::string operation_of(const std::string& id);

}  // namespace tidemark::feeds
