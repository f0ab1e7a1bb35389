// Kills a process that writes, again and again over the same database; every acknowledged key must be found. This
// program is also that process, when it is started with --write.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <latch>
#include <random>

#include "common/base/log.h"
#include "tests/unit/kv_test_support.h"

namespace tidemark::kv {
namespace {

constexpr unsigned kRounds = 12;
constexpr unsigned kWriters = 4;

struct Ack {
  std::uint32_t writer;
  std::uint32_t number;
};

std::string key_of(unsigned round, const Ack& ack, char half) {
  return std::to_string(round) + "/" + std::to_string(ack.writer) + "/" + std::to_string(ack.number) + half;
}

std::string value_for(const Ack& ack) {
  // Now and then a large one, so that kills also fall into flushes and compactions.
  return std::string(ack.number % 16 == 0 ? 20000 : 100, static_cast<char>('a' + ack.number % 26));
}

/// Each writer has one transaction in flight, and reports it on stdout once it is durable.
void write_until_killed(const std::filesystem::path& path, unsigned round) {
  set_log_level(LogLevel::kNone);  // stdout is for acknowledgements alone
  auto opened = open_rocksdb(testing::small_options(path));
  if (!opened) {
    std::fprintf(stderr, "child: %s (%s)\n", opened.error().message.c_str(), opened.error().detail.c_str());
    std::_Exit(3);
  }
  auto& engine = **opened;
  std::vector<std::jthread> writers;
  for (unsigned writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&engine, writer, round] {
      for (std::uint32_t number = 0;; ++number) {
        const Ack ack{writer, number};
        auto outcome = testing::run(engine, [ack, round](Transaction& txn) -> Result<void> {
          txn.put(key_of(round, ack, 'a'), value_for(ack));
          txn.put(key_of(round, ack, 'b'), value_for(ack));
          return {};
        });
        if (!outcome || ::write(STDOUT_FILENO, &ack, sizeof ack) != sizeof ack) std::_Exit(4);
      }
    });
  }
}

struct Child {
  pid_t pid;
  int acks;
};

Child start_child(const std::filesystem::path& path, unsigned round) {
  const auto path_text = path.string();
  const auto round_text = std::to_string(round);
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  const auto pid = ::fork();
  if (pid == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    ::execl("/proc/self/exe", "kv_kill_test", "--write", path_text.c_str(), round_text.c_str(), nullptr);
    std::_Exit(5);
  }
  ::close(ends[1]);
  return {pid, ends[0]};
}

/// Kills the child once `kill_after` keys are acknowledged; returns all that were acknowledged before it died.
std::vector<Ack> acknowledged_until_kill(const Child& child, std::size_t kill_after) {
  std::vector<Ack> acks;
  bool killed = false;
  for (;;) {
    if (!killed && acks.size() >= kill_after) {
      ::kill(child.pid, SIGKILL);
      killed = true;
    }
    Ack ack{};
    const auto got = ::read(child.acks, &ack, sizeof ack);
    if (got != static_cast<ssize_t>(sizeof ack)) break;
    acks.push_back(ack);
  }
  ::close(child.acks);
  int status = 0;
  ::waitpid(child.pid, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the child ended by itself: " << status;
  return acks;
}

/// Expects both halves of a transaction, or neither.
void expect_whole_transactions(const Reader& reader) {
  std::map<std::string, unsigned> halves;
  auto cursor = reader.scan({});
  for (; cursor->valid(); cursor->next()) ++halves[std::string(cursor->key().substr(0, cursor->key().size() - 1))];
  ASSERT_TRUE(cursor->status().has_value());
  for (const auto& [key, count] : halves) EXPECT_EQ(count, 2U) << key;
}

TEST(KillTest, EveryAcknowledgedKeyIsFoundAfterKill9) {
  testing::TempDir dir;
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::vector<std::pair<unsigned, Ack>> all;
  for (unsigned round = 0; round < kRounds; ++round) {
    // The first rounds kill during opening and the very first writes.
    const std::size_t kill_after = round < 3 ? round : random() % 1500;
    for (const auto& ack : acknowledged_until_kill(start_child(dir.path() / "db", round), kill_after)) {
      all.emplace_back(round, ack);
    }
    auto opened = open_rocksdb(testing::small_options(dir.path() / "db"));
    ASSERT_TRUE(opened.has_value()) << opened.error().message << " | " << opened.error().detail;
    auto snapshot = (*opened)->snapshot();
    for (const auto& [written_in, ack] : all) {
      for (const char half : {'a', 'b'}) {
        const auto key = key_of(written_in, ack, half);
        ASSERT_EQ(testing::value_of(*snapshot, key), value_for(ack)) << key << " in round " << round;
      }
    }
    expect_whole_transactions(*snapshot);
  }
  EXPECT_GT(all.size(), 100U);
}

}  // namespace
}  // namespace tidemark::kv

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--write") {
    tidemark::kv::write_until_killed(argv[2], static_cast<unsigned>(std::stoul(argv[3])));
    return 0;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
