// The kinds that move entities: archive, to another table or to objects, and unarchive, back. The work is done in
// workers/kinds/archive/mover.h.
#pragma once
#include <array>

#include "jobs/kinds/archive/object_archive.h"
#include "jobs/kinds/kind.h"

namespace tidemark::jobs {

/// Returns the options of the archive, which is the member `object` of the job.
constexpr std::array<KindOption, 7> archive_options(const char* object) {
  using enum KindOption::Form;
  return {{{"--container", "container", "a container instead of a table", kText, object},
           {"--directory", "directory", "a directory of the workers' configuration instead of a table", kText, object},
           {"--prefix", "prefix", "before every name, such as old/", kText, object},
           {"--format", "format", "entity (one document each) or lines (parts of many)", kText, object},
           {"--per", "per", "a part holds one partition, hour, day or month", kText, object},
           {"--gzip", "gzip", "compress the parts", kFlag, object},
           {"--table", "table", "the table that was archived, if it is not the job's own", kText, object}}};
}

struct ArchiveSpec : Selection {
  std::string source;
  std::string destination;  // a table, or empty:
  std::optional<ObjectArchive> archive = {};
  Accounts accounts = {};
  bool operator==(const ArchiveSpec&) const = default;

  static constexpr std::string_view kName = "archive";
  static constexpr bool kSelectsEntities = true;
  static constexpr auto kOptions = archive_options("destination");
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
  static constexpr auto kOptions = archive_options("source");
  void members(SpecMembers& in);
  [[nodiscard]] Reach reach() const;
  [[nodiscard]] bool writes_blobs() const { return archive && !archive->container.empty(); }
};

}  // namespace tidemark::jobs

namespace tidemark::workers {
Task<Result<JobOutcome>> run(JobContext& context, jobs::ArchiveSpec spec);
Task<Result<JobOutcome>> run(JobContext& context, jobs::UnarchiveSpec spec);
}  // namespace tidemark::workers
