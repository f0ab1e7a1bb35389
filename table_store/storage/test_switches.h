// Switches that take a safety rule out, so that the simulation can prove that it notices. All off; nothing but tests
// may set them. Read with relaxed order on the writer.
#pragma once
#include <atomic>

namespace tidemark::table_store {

struct TestSwitches {
  std::atomic<bool> ignore_if_version{false};
  std::atomic<bool> ignore_source_version{false};
};

inline TestSwitches& test_switches() {
  static TestSwitches switches;
  return switches;
}

}  // namespace tidemark::table_store
