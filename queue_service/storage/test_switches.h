// Switches that break a promise on purpose, to show that the simulation notices. Only tests may set them. Thread safe.
#pragma once
#include <atomic>

namespace tidemark::queue_service::test_switches {
/// Accept a lease whatever its epoch.
inline std::atomic<bool> ignore_epoch{false};
/// Delete a finished message in one transaction and put its follow-ups in another.
inline std::atomic<bool> finish_in_two{false};
/// Put a message that comes from another shard even if it has arrived before.
inline std::atomic<bool> arrive_again{false};
}  // namespace tidemark::queue_service::test_switches
