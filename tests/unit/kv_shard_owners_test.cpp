// Two processes that share the shards of a database, here two ShardOwners in one: the shards that each serves, where
// rows are written and read, and the replacement of an owner.
#include "common/postgres/shard_owners.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/unit/kv_postgres_fixture.h"

namespace tidemark::kv {
namespace {

using testing::increment;
using testing::PostgresTest;
using testing::put;
using testing::run;
using namespace std::chrono_literals;

class ShardOwnersTest : public PostgresTest {
 protected:
  static constexpr std::size_t kShards = 4;

  struct Process {
    std::unique_ptr<ShardOwners> owners;
    std::vector<std::unique_ptr<ClaimedEngine>> engines;
    std::array<std::atomic<bool>, kShards> knows{};  // something of a shard, since it was gained
    std::atomic<int> gained{0}, lost{0};

    ~Process() {
      if (owners) owners->stop();
    }
    [[nodiscard]] std::size_t served() const {
      return static_cast<std::size_t>(
          std::ranges::count_if(owners->show(), [](const auto& shard) { return shard.here; }));
    }
  };

  void SetUp() override {
    PostgresTest::SetUp();
    options_.lease = 60'000ms;  // so that no pause of this machine ends it
  }

  std::unique_ptr<Process> start(const std::string& name) {
    auto process = std::make_unique<Process>();
    auto opened = ShardOwners::open(options_, name, kShards);
    EXPECT_TRUE(opened.has_value()) << opened.error().message << " | " << opened.error().detail;
    process->owners = std::move(*opened);
    process->engines = process->owners->make_engines();
    ShardOwners::Hooks hooks;
    hooks.gained = [&process = *process](std::size_t shard) {
      ++process.gained;
      EXPECT_FALSE(process.knows[shard].exchange(true)) << "from before another one had it";
    };
    hooks.lost = [&process = *process](std::size_t shard) {
      EXPECT_FALSE(process.owners->place_of(shard).here);
      if (process.knows[shard].exchange(false)) ++process.lost;
    };
    EXPECT_TRUE(process->owners->start("ipc:///" + name, std::move(hooks)).has_value());
    return process;
  }

  /// Waits until the condition holds; false if it does not for a long time.
  template <class Condition>
  static bool eventually(Condition condition) {
    const auto give_up = std::chrono::steady_clock::now() + 60s;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > give_up) return false;
      std::this_thread::sleep_for(5ms);
    }
    return true;
  }
  static bool even(const Process& one, const Process& other) {
    return eventually([&] { return one.served() == 2 && other.served() == 2; });
  }
};

TEST_F(ShardOwnersTest, EachShardIsServedOnceAndReadEverywhere) {
  const auto one = start("one");
  EXPECT_EQ(one->served(), kShards) << "when start() has returned";
  for (const auto& engine : one->engines) ASSERT_TRUE(put(*engine, "a", "1"));
  const auto two = start("two");
  ASSERT_TRUE(even(*one, *two));
  EXPECT_EQ(one->lost, 2);
  EXPECT_EQ(two->gained, 2);
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    const bool first = one->owners->place_of(shard).here;
    ASSERT_NE(first, two->owners->place_of(shard).here);
    auto& owner = first ? *one : *two;
    auto& other = first ? *two : *one;
    EXPECT_TRUE(
        eventually([&] { return other.owners->place_of(shard).address == (first ? "ipc:///one" : "ipc:///two"); }));
    EXPECT_TRUE(put(*owner.engines[shard], "a", "2"));
    EXPECT_TRUE(put(*other.engines[shard], "a", "3").failed_with(ErrorCode::kServerBusy));
    for (const auto* process : {&owner, &other}) {
      EXPECT_EQ(process->engines[shard]->get("a")->value(), "2");
      EXPECT_EQ(process->engines[shard]->snapshot()->get("a")->value(), "2");
    }
  }
}

TEST_F(ShardOwnersTest, WhoeverStopsInOrderIsFollowedAtOnce) {
  const auto one = start("one");
  auto two = start("two");
  ASSERT_TRUE(even(*one, *two));
  two.reset();
  EXPECT_TRUE(eventually([&] { return one->served() == kShards; }));
  EXPECT_TRUE(eventually([&] { return one->owners->processes().size() == 1; })) << "it sees that in its next turn";
  for (const auto& shown : one->owners->show()) EXPECT_EQ(shown.takeovers, 0U);
}

TEST_F(ShardOwnersTest, HandedOverWhileItIsWrittenToLosesNothing) {
  const auto one = start("one");
  std::atomic<bool> stop{false};
  std::atomic<int> acknowledged{0};
  std::unique_ptr<Process> two;
  std::atomic<Process*> second{nullptr};
  std::jthread writer([&] {
    while (!stop) {
      for (auto* process : {one.get(), second.load()}) {
        if (process != nullptr && run(*process->engines[3], increment)) ++acknowledged;
      }
    }
  });
  two = start("two");
  second = two.get();
  ASSERT_TRUE(even(*one, *two));
  one->owners->wish(3, "two").value();
  ASSERT_TRUE(eventually([&] { return two->owners->place_of(3).here; }));
  const int before = acknowledged;
  ASSERT_TRUE(eventually([&] { return acknowledged > before + 10; }));
  one->owners->wish(3, "one").value();
  ASSERT_TRUE(eventually([&] { return one->owners->place_of(3).here; }));
  stop = true;
  writer.join();
  EXPECT_EQ(std::stoi(one->engines[3]->get("n")->value()), acknowledged);
}

/// Another process takes the row of a shard without waiting, as after a freeze. The former owner's commits fail; it
/// finds out, and claims nothing from the new owner.
TEST_F(ShardOwnersTest, AnOwnerThatWasReplacedGivesItsShardUp) {
  const auto one = start("one");
  ASSERT_TRUE(put(*one->engines[1], "a", "old"));
  ASSERT_EQ(one->engines[1]->get("a")->value(), "old");
  const auto held = one->engines[1]->snapshot();
  auto options = options_;
  options.shard = 1;
  options.owner = "stranger";
  session()->run({{"let_go", "UPDATE owners SET lease_ms = 0 WHERE shard = 1"}}, std::nullopt).value();
  const auto stranger = open(options);
  ASSERT_TRUE(put(*stranger, "a", "new"));
  EXPECT_TRUE(put(*one->engines[1], "a", "lost").failed_with(ErrorCode::kServerBusy));
  EXPECT_TRUE(eventually([&] { return !one->owners->place_of(1).here; }));
  EXPECT_EQ(one->served(), kShards - 1) << "the others go on";
  EXPECT_EQ(one->engines[1]->get("a")->value(), "new");
  EXPECT_EQ(one->engines[1]->snapshot()->get("a")->value(), "new");
  EXPECT_EQ(held->get("a")->value(), "old") << "a snapshot stays what it was";
  EXPECT_FALSE(one->engines[1]->failure().has_value());
}

// Like a leader of the database that stood still while another one was chosen, and does not know it yet.
TEST_F(ShardOwnersTest, AServerThatIsBehindIsNotRead) {
  const auto one = start("one");
  ASSERT_TRUE(put(*one->engines[0], "a", "1"));
  auto options = options_;
  options.shard = 0;
  ClaimedEngine elsewhere(options);
  EXPECT_EQ(elsewhere.get("a").value(), "1");
  elsewhere.know(one->owners->show()[0].epoch + 1);
  EXPECT_TRUE(elsewhere.get("a").failed_with(ErrorCode::kServerBusy));
  EXPECT_TRUE(elsewhere.snapshot()->get("a").failed_with(ErrorCode::kServerBusy));
}

TEST_F(ShardOwnersTest, OnlyAShardThatIsThereAndAProcessThatLivesCanBeWishedFor) {
  const auto one = start("one");
  EXPECT_TRUE(one->owners->wish(kShards, "one").failed_with(ErrorCode::kInvalidInput));
  EXPECT_TRUE(one->owners->wish(0, "nobody").failed_with(ErrorCode::kInvalidInput));
  EXPECT_TRUE(one->owners->wish(0, "one").has_value());
}

}  // namespace
}  // namespace tidemark::kv
