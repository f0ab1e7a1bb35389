// The rules by which the engine's two threads hand groups of transactions to each other: which thread runs bodies, and
// which one writes. There are two groups. The writer runs the waiting bodies into one of them and writes it to the log.
// While it waits for the disk, the helper runs newly submitted bodies into the other group, which is built on the one
// being written.
//
//   nobody runs, nobody writes  --begin_run-->   the writer runs      one thread at a time runs bodies, so that they
//   the writer runs             --begin_write--> the writer writes    see each other's writes in order
//   the writer writes           --begin_run-->   and the helper runs
//
// State alone: no threads, no locks, no bodies. The engine calls it with its mutex held and follows its answers. A
// wakeup costs as much as a body, so a thread is only woken if it has something to do.
#pragma once
#include <cstddef>

namespace tidemark::kv {

class GroupHandover {
 public:
  enum class Wake { kNobody, kWriter, kHelper };
  enum class Turn { kWait, kRun, kEnd };

  /// While a group is being written, this many waiting transactions are worth waking the helper.
  static constexpr std::size_t kWorthWaking = 8;
  explicit GroupHandover(std::size_t worth_waking = kWorthWaking) : worth_waking_(worth_waking) {}

  /// A transaction was queued; `waiting` transactions are in the queue now.
  Wake submitted(std::size_t waiting);
  /// Nothing is submitted any more. The queued transactions are still written.
  Wake stop();

  [[nodiscard]] Turn writers_turn() const;
  [[nodiscard]] Turn helpers_turn(std::size_t waiting) const;

  /// The data that a run may use, until end_run().
  struct Run {
    std::size_t filling = 0;  // the group that bodies are run into
    bool built_on_other = false;
    bool other_is_done = false;  // the other group was written and told: the runner clears it, without the lock
    bool while_writing = false;  // for the helper: stop once the writer is back
  };
  Run begin_run();
  /// `filled`: the number of members in the group by now. `full`: the group takes no more.
  Wake end_run(const Run& run, std::size_t filled, bool full);

  /// Returns the group that the writer writes now. Called after its run, without releasing the lock in between.
  std::size_t begin_write();
  /// The group is written and its members are told.
  void end_write() { writing_ = false; }
  /// The last call of the writer.
  Wake end();

  bool operator==(const GroupHandover&) const = default;

 private:
  std::size_t worth_waking_;
  std::size_t unwritten_ = 0;  // transactions that are not in a written group, wherever they are
  std::size_t filling_ = 0;
  std::size_t filled_ = 0;
  bool full_ = false;
  bool other_is_used_ = false;
  bool running_ = false;
  bool writing_ = false;
  bool stopping_ = false;
  bool ended_ = false;
};

}  // namespace tidemark::kv
