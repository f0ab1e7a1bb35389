// Switches that break a promise of job records on purpose, to show that the simulation notices. Only tests may set
// them. Thread safe.
#pragma once
#include <atomic>

namespace tidemark::jobs::test_switches {
/// Let a worker of a user's end a job that a later delivery has.
inline std::atomic<bool> ignore_record_epoch{false};
}  // namespace tidemark::jobs::test_switches
