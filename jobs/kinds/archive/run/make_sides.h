// The sides of a move, from what the job names. kJobInvalid: this worker cannot reach what it names.
#pragma once
#include "jobs/kinds/archive/run/mover.h"
#include "jobs/kinds/archive/run/side.h"

namespace tidemark::workers {

struct Sides {
  std::unique_ptr<Side> from;
  std::unique_ptr<Side> to;
};
Result<Sides> make_sides(JobContext& context, const MoveSpec& spec);

}  // namespace tidemark::workers
