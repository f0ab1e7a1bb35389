// Switches that turn safety rules off, to show that the simulation notices. Only tests may set them. They are read with
// relaxed order on the writer.
#pragma once
#include <atomic>

namespace tidemark::table_store {

struct TestSwitches {
  std::atomic<bool> ignore_if_version{false};
  std::atomic<bool> ignore_source_version{false};
  std::atomic<bool> leave_out_notes{false};  // of changes to followed tables
  std::atomic<bool> hide_staleness{false};   // from followers
  std::atomic<bool> prove_all{false};        // treat all listed entities as settled
  std::atomic<bool> forget_steps{false};     // take steps of transactions again
};

inline TestSwitches& test_switches() {
  static TestSwitches switches;
  return switches;
}

}  // namespace tidemark::table_store
