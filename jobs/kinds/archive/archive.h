// The kinds that move entities: archive, to another table or to objects, and unarchive, back. The work is done in
// workers/kinds/archive/mover.h.
#pragma once
#include "jobs/kinds/archive/object_archive.h"
#include "jobs/kinds/kind.h"

namespace tidemark::jobs {

struct ArchiveSpec : Selection {
  std::string source;
  std::string destination;  // a table, or empty:
  std::optional<ObjectArchive> archive = {};
  Accounts accounts = {};
  bool operator==(const ArchiveSpec&) const = default;

  static constexpr std::string_view kName = "archive";
  static constexpr bool kSelectsEntities = true;
  void members(SpecMembers& in);
  [[nodiscard]] Reach reach() const;
  [[nodiscard]] bool writes_blobs() const { return archive && !archive->container.empty(); }
};

/// Moves entities back from `source`, an archive, to `destination`.
struct UnarchiveSpec : Selection {
  std::string source;  // a table, or empty:
  std::optional<ObjectArchive> archive = {};
  std::string destination;
  Accounts accounts = {};
  bool operator==(const UnarchiveSpec&) const = default;

  static constexpr std::string_view kName = "unarchive";
  static constexpr bool kSelectsEntities = true;
  void members(SpecMembers& in);
  [[nodiscard]] Reach reach() const;
  [[nodiscard]] bool writes_blobs() const { return archive && !archive->container.empty(); }
};

}  // namespace tidemark::jobs

namespace tidemark::workers {
Task<Result<JobOutcome>> run(JobContext& context, jobs::ArchiveSpec spec);
Task<Result<JobOutcome>> run(JobContext& context, jobs::UnarchiveSpec spec);
}  // namespace tidemark::workers
