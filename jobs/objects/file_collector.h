// Removes files that have no meaning any more: files, temporary ones too, of writers that can write no more rows, which
// no row of the catalog names. A file that a row names is an archived entity and perhaps the only copy of it, so a file
// stays in any case of doubt:
//   owner       Only a directory that belongs to this stack (file_owner.h) is looked at.
//   ledger      A file is removed only if this table store has its writer's ledger, closed or in a later epoch. A
//               writer without a ledger is a stranger, or from a time that this table store does not know.
//   grace       A file that was written recently stays.
//   quarantine  A file is renamed into .tidemark/quarantine first, and unlinked only after a further time. If a row
//               names it by then, it is put back.
// Files without the name of an archived file are left alone.
#pragma once
#include "jobs/objects/file_owner.h"

namespace tidemark::jobs {

struct CollectionRules {
  Time now;
  Duration grace;
  Duration quarantine;
};

struct CollectedFiles {
  std::uint64_t removed = 0;      // for good, temporary ones too
  std::uint64_t quarantined = 0;  // by this pass
  std::uint64_t put_back = 0;
};

/// Makes one pass over all files, some at a time.
Task<Result<CollectedFiles>> collect_files(table_store::TableClient& tables, FileDirectory directory,
                                           CollectionRules rules);

}  // namespace tidemark::jobs
