// Switches that break a promise of rules on purpose, to show that the simulation notices. Only tests may set them.
// Thread safe.
#pragma once
#include <atomic>

namespace tidemark::workers::test_switches {
/// Give the job of a change a new id each time.
inline std::atomic<bool> new_job_ids{false};
/// Pass a change by before its job is durable.
inline std::atomic<bool> place_first{false};
}  // namespace tidemark::workers::test_switches
