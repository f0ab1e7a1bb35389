// Where a job's entities come from, where they go, and under which key, whatever its kind: for those who ask what a job
// has to do with one entity. Pure; any thread.
#pragma once
#include <optional>
#include <string>

#include "jobs/spec/job_spec.h"
#include "jobs/spec/key_template.h"

namespace tidemark::jobs {

/// A table, or an archive outside of tables. Neither: a job that has no such side.
struct Location {
  std::string table;
  std::optional<ObjectArchive> archive = {};
  [[nodiscard]] bool empty() const { return table.empty() && !archive; }
};
/// Whether the same entity is under the same name in both. Table names match whatever their case.
bool is_same(const Location& a, const Location& b);
/// "table", "container" or "directory", and which.
std::string_view store_of(const Location& location);
const std::string& name_of(const Location& location);

struct Reach {
  Location from, to;
  Selection selection;
  bool everything = false;                     // of `from`
  bool keeps_key = false;                      // what it writes has the key of the original, or:
  std::optional<KeyTemplates> templates = {};  // a key made of the original by these
  [[nodiscard]] bool covers(const table_store::Entity& entity) const;
};
Reach reach_of(const JobSpec& spec);

}  // namespace tidemark::jobs
