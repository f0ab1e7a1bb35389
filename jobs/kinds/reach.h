// What a job does to entities, whatever its kind: where they come from, where they go, with which key, and what happens
// to each. Plans, undo, explanations, limits and the batches of small jobs are derived from it. Pure.
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
  std::string account = {};  // empty: that of the jobs
  [[nodiscard]] bool empty() const { return table.empty() && !archive; }
};
/// True if both are the same place. Table names match in any case.
bool is_same(const Location& a, const Location& b);
/// "table", "container" or "directory", and its name.
std::string_view store_of(const Location& location);
const std::string& name_of(const Location& location);

enum class Step : std::uint8_t {
  kArchive = 1,  // moved, under the version that was read
  kRestore = 2,  // moved back, under the version that was archived
  kCopy = 3,
  kErase = 4,
  kRekey = 6,  // moved to another key of the same table, under the version that was read
  kOther = 5,  // `note` says what
};

struct Reach {
  Location from = {}, to = {};
  Selection selection = {};
  std::string operation = {};  // instead of a selection: what this job wrote and nobody has changed since
  Step step = Step::kOther;
  std::string note = {};                       // for a person: what happens to an entity
  bool everything = false;                     // of `from`
  bool keeps_key = false;                      // what it writes has the key of the original, or:
  std::optional<KeyTemplates> templates = {};  // a key made of the original by these
  PropertyValues sets = {};                    // properties, before the key is made
  std::string undoes = {};                     // the job to take back; resolve() tells the rest
  std::string url = {};                        // of an endpoint that is called
  std::string container = {};                  // that must be there
  bool writes_blobs = false;
  [[nodiscard]] bool covers(const table_store::Entity& entity) const;
  /// The key of what becomes of the entity; nothing if it cannot be made, or if there are no templates.
  [[nodiscard]] std::optional<EntityKey> key_for(table_store::Entity entity) const;
  [[nodiscard]] bool moves() const { return step == Step::kArchive || step == Step::kRestore; }
};
Reach reach_of(const JobSpec& spec);

class JobStore;
/// What an undo reaches, from the records of the jobs it goes back to; any other reach as it is, but for the name of
/// the jobs' own account, which is left out. kJobNotFound, kJobNotEnded, kJobInvalid (a kind that cannot be undone, or
/// a move from a place to itself).
Task<Result<Reach>> resolve(JobStore& store, Reach reach);
/// Leaves the name of the jobs' account out of both sides.
Reach seen_from(const std::string& home, Reach reach);
/// The accounts that it reaches besides that of the jobs.
std::vector<std::string> other_accounts(const Reach& reach);
/// kJobInvalid if the process that was given these may not reach one of them.
Result<void> check_accounts(const Reach& reach, const std::vector<std::string>& allowed);
/// If the job writes in other accounts, those in which it has an operation with a ledger; the one in which it counts
/// what is done comes first. `home`: that of the jobs.
std::vector<std::string> ledger_accounts(const Reach& reach, const std::string& home);

}  // namespace tidemark::jobs
