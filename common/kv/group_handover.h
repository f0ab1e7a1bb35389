// Who runs bodies and who writes: the rules by which the engine's two threads hand groups of transactions to each
// other. There are two groups. The writer runs what waits into one of them and writes it to the log; while it waits for
// the disk, the helper runs what has come meanwhile into the other, which is built on the one being written.
//
//   nobody runs, nobody writes  --begin_run-->   the writer runs      one thread at a time runs bodies, so that they
//   the writer runs             --begin_write--> the writer writes    see each other's writes in order
//   the writer writes           --begin_run-->   and the helper runs
//
// State alone: no threads, no locks, no bodies. The engine calls it with its mutex held and does what it says. A wakeup
// costs as much as a body, so each is only for a thread that has something to do.
#pragma once
#include <cstddef>

namespace tidemark::kv {

class GroupHandover {
 public:
  enum class Wake { kNobody, kWriter, kHelper };
  enum class Turn { kWait, kRun, kEnd };

  /// While a group is being written, so many waiting transactions are worth the helper's waking.
  static constexpr std::size_t kWorthWaking = 8;
  explicit GroupHandover(std::size_t worth_waking = kWorthWaking) : worth_waking_(worth_waking) {}

  /// A transaction was queued and is one of `waiting` there.
  Wake submitted(std::size_t waiting);
  /// Nothing is submitted any more. What is there is still written.
  Wake stop();

  [[nodiscard]] Turn writers_turn() const;
  [[nodiscard]] Turn helpers_turn(std::size_t waiting) const;

  /// What a run may touch, until end_run().
  struct Run {
    std::size_t filling = 0;  // the group that bodies are run into
    bool built_on_other = false;
    bool other_is_done = false;  // it was written and told: the runner clears it, without the lock
    bool while_writing = false;  // for the helper: stop once the writer is back
  };
  Run begin_run();
  /// `filled`: members of the group by now. `full`: it takes no more.
  Wake end_run(const Run& run, std::size_t filled, bool full);

  /// Which group the writer writes now. Called after its run, in the same hold of the lock.
  std::size_t begin_write();
  /// The group is written and its members are told.
  void end_write() { writing_ = false; }
  /// The writer's last word.
  Wake end();

  bool operator==(const GroupHandover&) const = default;

 private:
  std::size_t worth_waking_;
  std::size_t unwritten_ = 0;  // transactions that are in no written group, wherever they are
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
