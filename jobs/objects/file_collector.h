// Takes away files that count for nothing: files, temporary ones too, of writers that can write no row any more, that
// no row of the catalog names. A file that a row names is an archived entity and perhaps the only copy of it, so
// whatever is in doubt stays:
//   owner       Only a directory that is ours (file_owner.h) is looked at.
//   ledger      A file goes only if this table store has its writer's ledger, closed or in a later epoch. Whose ledger
//               is missing is a stranger, or from a time that this table store does not know.
//   grace       A file that was written lately stays.
//   quarantine  It is renamed into .tidemark/quarantine first, and unlinked only after a further time. If a row names it
//               by then, it is put back.
// What does not have the name of an archived file is left alone.
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
  std::uint64_t quarantined = 0;  // since now
  std::uint64_t put_back = 0;
};

/// One pass over all files, some at a time.
Task<Result<CollectedFiles>> collect_files(table_store::TableClient& tables, FileDirectory directory,
                                           CollectionRules rules);

}  // namespace tidemark::jobs
