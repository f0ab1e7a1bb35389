// One run of the blob service alone, in two or three processes that share its shards: they die, freeze beyond their
// leases and come back, their clocks are set, and links lose and repeat calls.
#pragma once
#include "tests/simulation/world.h"

namespace tidemark::simulation {

RunOutcome run_blob_seed(std::uint64_t seed, const Without& without, bool print);

}  // namespace tidemark::simulation
