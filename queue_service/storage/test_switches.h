// Switches that break a promise on purpose, so that the simulation can show that it would notice. Never set outside of
// tests. Thread safe.
#pragma once
#include <atomic>

namespace tidemark::queue_service::test_switches {
/// A lease is honoured whatever its epoch.
inline std::atomic<bool> ignore_epoch{false};
/// A message that ends goes in one transaction, and what follows it comes in another.
inline std::atomic<bool> finish_in_two{false};
}  // namespace tidemark::queue_service::test_switches
