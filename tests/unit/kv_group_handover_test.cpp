// The hand-over of groups between the engine's threads: every interleaving of a few transactions, then the rules that
// spare wakeups one by one.
#include "common/kv/group_handover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace tidemark::kv {
namespace {

using Turn = GroupHandover::Turn;
using Wake = GroupHandover::Wake;

constexpr std::size_t kWorth = 2;
constexpr int kFull = 3;
constexpr int kSubmitted = 7;

enum class At { kLooks, kSleeps, kRuns, kWrites, kEnded };

/// The engine with its two threads as a state: transactions are numbers, groups hold them in order.
struct World {
  struct Group {
    std::deque<int> members;
    int dirty = 0;  // rows that were written and are not cleared yet
    bool operator==(const Group&) const = default;
  };
  GroupHandover handover{kWorth};
  std::deque<int> queue, taken;
  std::array<Group, 2> groups;
  At writer = At::kLooks, helper = At::kLooks;
  GroupHandover::Run run;
  std::size_t writes_group = 0;
  int submitted = 0, told = 0;
  bool stopped = false;

  [[nodiscard]] std::string key() const {
    std::string key;
    const auto add = [&](auto... values) { ((key += std::to_string(static_cast<int>(values)) + ' '), ...); };
    add(queue.size(), taken.size(), groups[0].members.size(), groups[0].dirty, groups[1].members.size(),
        groups[1].dirty, writer, helper, run.filling, run.built_on_other, run.other_is_done, run.while_writing,
        writes_group, submitted, told, stopped);
    return key;
  }
  [[nodiscard]] bool writing() const { return writer == At::kWrites; }

  void wake(Wake woken) {
    if (woken == Wake::kWriter && writer == At::kSleeps) writer = At::kLooks;
    if (woken == Wake::kHelper && helper == At::kSleeps) helper = At::kLooks;
  }
  void submit() {
    queue.push_back(submitted++);
    wake(handover.submitted(queue.size()));
  }
  void stop() {
    stopped = true;
    wake(handover.stop());
  }

  void look(At& thread, Turn turn) {
    if (turn == Turn::kWait) thread = At::kSleeps;
    if (turn == Turn::kEnd) thread = At::kEnded;
    if (turn != Turn::kRun) return;
    ASSERT_FALSE(writer == At::kRuns || helper == At::kRuns) << "two threads run bodies";
    thread = At::kRuns;
    run = handover.begin_run();
    ASSERT_EQ(run.while_writing, writing());
    if (writing()) ASSERT_NE(run.filling, writes_group) << "bodies run into the group that is being written";
    auto& other = groups[1 - run.filling];
    ASSERT_EQ(run.built_on_other, other.dirty > 0 && !run.other_is_done) << "rows are not seen, or seen too long";
    ASSERT_EQ(run.other_is_done, other.dirty > 0 && !writing()) << "rows that the database does not have go";
    if (run.other_is_done) other.dirty = 0;
  }
  [[nodiscard]] bool may_go_on() const {
    return groups[run.filling].members.size() < kFull && (!run.while_writing || writing());
  }
  /// Runs one body, or ends the run.
  void run_on(At& thread) {
    auto& group = groups[run.filling];
    if (taken.empty()) taken.swap(queue);
    if (may_go_on() && !taken.empty()) {
      group.members.push_back(taken.front());
      taken.pop_front();
      ++group.dirty;
      return;
    }
    wake(handover.end_run(run, group.members.size(), group.members.size() == kFull));
    thread = At::kLooks;
  }

  void step_writer() {
    if (writer == At::kLooks) {
      look(writer, handover.writers_turn());
      if (writer == At::kEnded) wake(handover.end());
    } else if (writer == At::kRuns) {
      run_on(writer);
      if (writer != At::kLooks) return;
      writes_group = handover.begin_write();
      ASSERT_EQ(writes_group, run.filling);
      ASSERT_FALSE(groups[writes_group].members.empty()) << "an empty group is written";
      writer = At::kWrites;
    } else {
      for (auto& members = groups[writes_group].members; !members.empty(); members.pop_front()) {
        ASSERT_EQ(members.front(), told) << "out of order";
        ++told;
      }
      handover.end_write();
      writer = At::kLooks;
    }
  }
  void step_helper() {
    if (helper == At::kLooks) {
      look(helper, handover.helpers_turn(queue.size()));
    } else {
      run_on(helper);
    }
  }
  [[nodiscard]] bool rests(At thread) const { return thread == At::kSleeps || thread == At::kEnded; }
  void expect_nothing_forgotten() const {
    ASSERT_EQ(told, submitted) << "both threads rest, and transactions wait";
    if (stopped) ASSERT_TRUE(writer == At::kEnded && helper == At::kEnded);
  }
};

TEST(GroupHandover, WritesEverythingInOrderHoweverItsThreadsInterleave) {
  std::map<std::string, std::vector<GroupHandover>> seen;
  std::deque<World> open{World()};
  bool helped = false;
  while (!open.empty()) {
    const auto world = std::move(open.front());
    open.pop_front();
    auto& known = seen[world.key()];
    if (std::ranges::find(known, world.handover) != known.end()) continue;
    known.push_back(world.handover);
    helped = helped || world.helper == At::kRuns;
    if (world.rests(world.writer) && world.rests(world.helper)) world.expect_nothing_forgotten();
    const auto follow = [&](auto&& step) { step(open.emplace_back(world)); };
    if (world.submitted < kSubmitted && !world.stopped) follow([](World& next) { next.submit(); });
    if (!world.stopped) follow([](World& next) { next.stop(); });
    if (!world.rests(world.writer)) follow([](World& next) { next.step_writer(); });
    if (!world.rests(world.helper)) follow([](World& next) { next.step_helper(); });
    if (HasFatalFailure()) FAIL() << "after " << world.key();
  }
  EXPECT_TRUE(helped);
  EXPECT_GT(seen.size(), 1000U);
}

TEST(GroupHandover, WakesTheWriterUnlessItIsAtWork) {
  GroupHandover handover;
  EXPECT_EQ(handover.submitted(1), Wake::kWriter);
  const auto run = handover.begin_run();
  EXPECT_EQ(handover.submitted(1), Wake::kNobody);
  EXPECT_EQ(handover.end_run(run, 1, false), Wake::kNobody);
  handover.begin_write();
  EXPECT_EQ(handover.submitted(1), Wake::kNobody);
  handover.end_write();
  EXPECT_EQ(handover.writers_turn(), Turn::kRun);
}

TEST(GroupHandover, WakesTheHelperOnceForACrowd) {
  GroupHandover handover;
  handover.submitted(1);
  handover.end_run(handover.begin_run(), 1, false);
  handover.begin_write();
  for (std::size_t waiting = 1; waiting < 2 * GroupHandover::kWorthWaking; ++waiting) {
    const bool crowd = waiting == GroupHandover::kWorthWaking;
    EXPECT_EQ(handover.submitted(waiting), crowd ? Wake::kHelper : Wake::kNobody);
    EXPECT_EQ(handover.helpers_turn(waiting), waiting < GroupHandover::kWorthWaking ? Turn::kWait : Turn::kRun);
  }
}

TEST(GroupHandover, TheHelperWakesTheWriterThatCameBack) {
  GroupHandover handover(1);
  handover.submitted(1);
  handover.end_run(handover.begin_run(), 1, false);
  handover.begin_write();
  handover.submitted(1);
  const auto first = handover.begin_run();
  EXPECT_TRUE(first.while_writing && first.built_on_other);
  EXPECT_EQ(handover.end_run(first, 1, false), Wake::kNobody);
  handover.submitted(1);
  const auto second = handover.begin_run();
  handover.end_write();
  EXPECT_EQ(handover.writers_turn(), Turn::kWait);
  EXPECT_EQ(handover.end_run(second, 2, false), Wake::kWriter);
  EXPECT_EQ(handover.writers_turn(), Turn::kRun);
}

}  // namespace
}  // namespace tidemark::kv
