// The kinds that move entities: archive to another table or to objects, and unarchive back. How: run/mover.h.
#pragma once
#include "jobs/kinds/archive/object_archive.h"
#include "jobs/kinds/kind.h"

namespace tidemark::jobs {

struct ArchiveSpec : Selection {
  std::string source;
  std::string destination;  // a table, or empty:
  std::optional<ObjectArchive> archive = {};
  bool operator==(const ArchiveSpec&) const = default;

  static constexpr std::string_view kName = "archive";
  static constexpr bool kSelectsEntities = true;
  static constexpr KindOption kOptions[] = {
      {"--container", "destination.container", "a container instead of a table"},
      {"--directory", "destination.directory", "a directory of the workers' configuration instead of a table"},
      {"--prefix", "destination.prefix", "before every name, such as old/"},
      {"--format", "destination.format", "entity (one document each) or lines (parts of many)"},
      {"--per", "destination.per", "a part holds one partition, hour, day or month"},
      {"--gzip", "destination.gzip", "compress the parts", KindOption::Form::kFlag},
      {"--table", "destination.table", "the table that was archived, if it is not the job's own"},
  };
  void members(SpecMembers& in);
  [[nodiscard]] Reach reach() const;
  [[nodiscard]] bool writes_blobs() const { return archive && !archive->container.empty(); }
};

/// Back from `source`, an archive, to `destination`.
struct UnarchiveSpec : Selection {
  std::string source;  // a table, or empty:
  std::optional<ObjectArchive> archive = {};
  std::string destination;
  bool operator==(const UnarchiveSpec&) const = default;

  static constexpr std::string_view kName = "unarchive";
  static constexpr bool kSelectsEntities = true;
  static constexpr KindOption kOptions[] = {
      {"--container", "source.container", "a container instead of a table"},
      {"--directory", "source.directory", "a directory of the workers' configuration instead of a table"},
      {"--prefix", "source.prefix", "before every name, such as old/"},
      {"--format", "source.format", "entity (one document each) or lines (parts of many)"},
      {"--per", "source.per", "a part holds one partition, hour, day or month"},
      {"--gzip", "source.gzip", "compress the parts", KindOption::Form::kFlag},
      {"--table", "source.table", "the table that was archived, if it is not the job's own"},
  };
  void members(SpecMembers& in);
  [[nodiscard]] Reach reach() const;
  [[nodiscard]] bool writes_blobs() const { return archive && !archive->container.empty(); }
};

}  // namespace tidemark::jobs

namespace tidemark::workers {
Task<Result<JobOutcome>> run(JobContext& context, jobs::ArchiveSpec spec);
Task<Result<JobOutcome>> run(JobContext& context, jobs::UnarchiveSpec spec);
}  // namespace tidemark::workers
