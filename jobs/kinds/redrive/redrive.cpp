#include "jobs/kinds/redrive/redrive.h"

#include "jobs/kinds/reach.h"
#include "jobs/spec/job_spec.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {

void RedriveSpec::members(SpecMembers& in) {
  which.members(in);
  in.number("canary", canary, 0, 100, {.meaning = "send so many first, the rest only if they succeed"});
  if (canary > 0 && !which.queue.empty()) {
    in.problem("canary is for messages of jobs: what becomes of those of a queue of yours is not known");
  }
}

Reach RedriveSpec::reach() const { return {}; }

}  // namespace tidemark::jobs
