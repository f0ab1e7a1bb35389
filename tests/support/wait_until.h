// Waits for a condition that another thread or process makes true.
#pragma once
#include <chrono>
#include <thread>

namespace tidemark {

/// Looks every millisecond: a thread that only yields would keep a core busy.
template <class Condition>
void wait_until(const Condition& holds) {
  while (!holds()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace tidemark
