// What the undo of a job has to do, from the records of the jobs it goes back to. Undo of an archive job restores, undo
// of that archives again, and so on; undo of a copy removes the copies. Only what still is as the job left it is
// touched: entities in `source` that operation `operation` wrote.
#pragma once
#include "jobs/store/job_store.h"

namespace tidemark::jobs {

enum class UndoStep : std::uint8_t { kArchive = 1, kRestore = 2, kErase = 3 };

struct UndoPlan {
  UndoStep step = UndoStep::kRestore;
  std::string source;
  std::string destination;  // empty for kErase
  /// Instead of the table that is the archive: of `source` for kRestore, of `destination` for kArchive.
  std::optional<ObjectArchive> archive = {};
  std::string operation;
};

/// kJobNotFound, kJobNotEnded, kJobInvalid (a kind that cannot be undone).
Task<Result<UndoPlan>> plan_undo(JobStore& store, std::string job_id);

}  // namespace tidemark::jobs
