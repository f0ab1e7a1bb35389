#include "api/cli/commands.h"

namespace tidemark::cli {

void add_group_commands(const Commands& program) {
  const auto table = table_of({{"group", "/id"},
                               {">jobs", "/members"},
                               {">queued", "/states/queued"},
                               {">running", "/states/running"},
                               {">succeeded", "/states/succeeded"},
                               {">poisoned", "/states/poisoned"},
                               {">cancelled", "/states/cancelled"},
                               {"ended", "/finishedAt", time_of}});
  const auto groups = program.family("group", "jobs that were submitted together");
  groups.add_for_one("groups", "id", "the group's id",
                     {{"show", "how many of its jobs are in which state", "GET", "", table}});
}

}  // namespace tidemark::cli
