// The effect of a job on entities, whatever its kind: where they come from, where they go, with which key, and how each
// of them changes. Plans, undo, explanations, limits and the batches of small jobs are derived from it. Pure.
#pragma once
#include <optional>
#include <string>

#include "jobs/spec/job_spec.h"
#include "jobs/spec/key_template.h"
#include "jobs/spec/property_values.h"

namespace tidemark::jobs {

/// A table, or an archive outside of tables, or neither if a job has no such side.
struct Location {
  std::string table = {};
  std::optional<ObjectArchive> archive = {};
  std::string account = {};  // empty: the account of the jobs
  [[nodiscard]] bool empty() const { return table.empty() && !archive; }
};
/// Returns true if both are the same place. Table names match in any case.
bool is_same(const Location& a, const Location& b);
/// Returns "table", "container" or "directory".
std::string_view store_of(const Location& location);
const std::string& name_of(const Location& location);

enum class Step : std::uint8_t {
  kArchive = 1,  // moved, under the version that was read
  kRestore = 2,  // moved back, under the version that was archived
  kCopy = 3,
  kErase = 4,
  kRekey = 6,  // moved to another key of the same table, under the version that was read
  kSteps = 7,  // the steps of a transaction
  kOther = 5,  // `note` describes it
};

struct Reach {
  Location from = {}, to = {};
  Selection selection = {};
  std::string operation = {};  // instead of a selection: all that this job wrote and that has not changed since
  Step step = Step::kOther;
  std::string note = {};                       // for people: the change of an entity
  bool everything = false;                     // the whole of `from`
  bool keeps_key = false;                      // written entities keep the key of the original, or:
  std::optional<KeyTemplates> templates = {};  // they make the key from the original
  PropertyValues sets = {};                    // properties that are set before the key is made
  std::string undoes = {};                     // the job to take back; resolve() finds the other fields
  std::vector<std::string> urls = {};          // those of endpoints that are called
  std::string container = {};                  // the container that must exist
  bool writes_blobs = false;
  // Those that a transaction reaches, instead of `from` and `to`.
  std::vector<std::string> tables = {};
  std::vector<std::string> accounts = {};  // those that it changes, in which it is decided first; "": that of the jobs
  bool writes_messages = false;
  [[nodiscard]] bool covers(const table_store::Entity& entity) const;
  /// Returns the key of the entity that this one becomes; nothing if it cannot be made, or if there are no templates.
  [[nodiscard]] std::optional<EntityKey> key_for(table_store::Entity entity) const;
  [[nodiscard]] bool moves() const { return step == Step::kArchive || step == Step::kRestore; }
};
Reach reach_of(const JobSpec& spec);

class JobStore;
/// Resolves the reach of an undo, from the records of the jobs that it goes back to; any other reach stays as it is,
/// except that the name of the jobs' own account is left out. kJobNotFound, kJobNotEnded, kJobInvalid (a kind that
/// cannot be undone, or a move from a place to itself).
Task<Result<Reach>> resolve(JobStore& store, Reach reach);
/// Removes the name of the jobs' account from both sides.
Reach seen_from(const std::string& home, Reach reach);
/// Returns the accounts that it reaches besides that of the jobs.
std::vector<std::string> other_accounts(const Reach& reach);
/// Returns kJobInvalid if it reaches an account that is not allowed to this process.
Result<void> check_accounts(const Reach& reach, const std::vector<std::string>& allowed);
/// Returns, if the job writes in other accounts, those in which it has an operation with a ledger; the account in which
/// it counts its work comes first. `home`: the account of the jobs.
std::vector<std::string> ledger_accounts(const Reach& reach, const std::string& home);

}  // namespace tidemark::jobs
