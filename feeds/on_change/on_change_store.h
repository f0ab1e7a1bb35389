// Declarations of what follows changes, as rows of the table TidemarkOnChange, which every SDK can read:
//   'definitions' / TABLE NAME   what persons want, changed by compare-and-swap; the table in lower case
//     Definition String (on_change.h)   Id Table Start String   CreatedAt DateTime
//     ResumesAsked Int32, ResumeAfter String: how often a person has asked to go on, and from which token on, if given
//   'progress' / ID              what the owner says (OnChangeProgress), under its fence
//   'owners' / ...               whose it is (jobs/store/owner_rows.h)
//   'changes' / 'last'           its version rises with every change by a person
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "feeds/on_change/on_change.h"
#include "jobs/store/owner_rows.h"

namespace tidemark::feeds {

inline constexpr std::string_view kOnChangeTable = "TidemarkOnChange";
inline constexpr std::size_t kMaxOnChanges = 200;  // of an account
inline constexpr std::string_view kRunning = "running";
inline constexpr std::string_view kStopped = "stopped";  // until a person says to go on

struct OnChange {
  std::string table, name;
  std::string id;
  OnChangeDefinition definition;
  std::string start;  // the token to begin at
  std::string resume_after;
  Time created_at{};
  std::int32_t resumes_asked = 0;
  table_store::Version version = 0;  // of the row
};

struct OnChangeProgress {
  std::string state{kRunning};
  std::string token;            // everything up to it was told
  std::uint64_t told = 0;       // changes
  std::uint64_t passed_by = 0;  // that the filter did not select
  std::string failed;           // the token before the change that could not be told
  std::uint32_t attempts = 0;   // at it
  std::string last_error;
  Time last_error_at{};
  std::int32_t resumes = 0;  // how many of those asked for were heeded
  table_store::Version version = 0;
};

class OnChangeStore : public jobs::OwnerRows {
 public:
  OnChangeStore(table_store::TableClient& tables, Clock& clock, Random& random)
      : OwnerRows(tables, kOnChangeTable, 4 * kMaxOnChanges), tables_(tables), clock_(clock), random_(random) {}

  /// kOnChangeNotFound.
  Task<Result<OnChange>> get(std::string table, std::string name);
  /// By table and name; rows that are not of the form are left out.
  Task<Result<std::vector<OnChange>>> all();
  struct Stored {
    OnChange on_change;
    bool created = false;
  };
  /// Declares it, or finds that it is there already; kOnChangeInvalid if another one has the name. kTooManyOnChanges.
  Task<Result<Stored>> put(std::string table, std::string name, OnChangeDefinition definition, std::string start);
  /// Asks a stopped one to go on, from another place if a token is given.
  Task<Result<OnChange>> resume(std::string table, std::string name, std::string after);
  /// Removes all of it; its owner is fenced.
  Task<Result<void>> remove(std::string table, std::string name);
  /// Rises with each change by a person; 0 before the first.
  Task<Result<table_store::Version>> changes();

  /// Empty before the owner has written any.
  Task<Result<OnChangeProgress>> progress(std::string id);
  /// kFenced if another owner has taken over.
  Task<Result<void>> write_progress(std::string id, OnChangeProgress progress, table_store::Fence fence);

 private:
  Task<Result<bool>> swap(OnChange& on_change);
  Task<Result<void>> tell();

  table_store::TableClient& tables_;
  Clock& clock_;
  Random& random_;
};

/// Of the fence that an owner's writes have.
std::string operation_of(const std::string& id);

}  // namespace tidemark::feeds
