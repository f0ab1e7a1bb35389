// The power fails at each change of a file, one after another: every acknowledged write is there when the machine is
// back.
#include <gtest/gtest.h>

#include <atomic>

#include "common/kv/rocksdb_database.h"
#include "tests/support/environment.h"
#include "tests/unit/kv_forgetful_disk.h"
#include "tests/unit/kv_test_support.h"

namespace tidemark::kv {
namespace {

using testing::ForgetfulDisk;

class PowerLoss : public ::testing::Test {
 protected:
  PowerLoss() { options_.write_buffer_bytes = 64UL << 10; }

  Result<std::unique_ptr<Engine>> open() { return detail::open_rocksdb_on(options_, env_.get()); }
  std::unique_ptr<Engine> reopen() {
    disk_->come_back();
    auto engine = open();
    EXPECT_TRUE(engine.has_value()) << engine.error().message << " | " << engine.error().detail;
    return engine ? std::move(*engine) : nullptr;
  }
  static std::string key(int number, char half) { return "k" + std::to_string(number) + half; }
  // Large enough that a run flushes and compacts.
  static std::string value(int number) { return std::string(3000, static_cast<char>('a' + number % 26)); }
  /// Writes two keys in a transaction; returns whether it was acknowledged.
  static bool write(Engine& engine, int number) {
    return testing::run(engine,
                        [number](Transaction& txn) -> Result<void> {
                          txn.put(key(number, 'a'), value(number));
                          txn.put(key(number, 'b'), value(number));
                          return {};
                        })
        .has_value();
  }
  /// Expects neither key, or both as they were written; returns whether they are there.
  static bool is_there(const Reader& reader, int number) {
    const auto a = testing::value_of(reader, key(number, 'a'));
    const auto b = testing::value_of(reader, key(number, 'b'));
    EXPECT_EQ(a, b) << "half of transaction " << number;
    if (a == "<none>") return false;
    EXPECT_EQ(a, value(number));
    return true;
  }
  void start_anew() {
    disk_->come_back();
    std::filesystem::remove_all(options_.path);
  }

  testing::TempDir dir_;
  RocksDbOptions options_ = testing::small_options(dir_.path() / "db");
  std::shared_ptr<ForgetfulDisk> disk_ = std::make_shared<ForgetfulDisk>();
  std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(disk_);
};

constexpr int kWritten = 60;

/// One run of writes and a range delete, until it ends or the power fails.
struct Story {
  std::vector<int> acknowledged;
  bool erasing = false, erased = false;  // the first ten, asked for and done

  void tell(Engine& engine, const std::function<bool(Engine&, int)>& write) {
    for (int i = 0; i < kWritten; ++i) {
      if (i == kWritten / 2) {
        erasing = true;
        erased = testing::erase_range(engine, {"k0", "k1"}).has_value();
        if (!erased) return;
      }
      if (!write(engine, i)) return;
      acknowledged.push_back(i);
    }
  }
};

TEST_F(PowerLoss, NothingAcknowledgedIsLostWhereverItFails) {
  bool finished = false;
  std::uint64_t runs = 0;
  // The gate tries a third of the changes, another third with other seeds.
  const std::uint64_t step = test_size(1) > 1 ? 1 : 3;
  for (std::uint64_t change = 1 + test_seed() % step; !finished; change += change < 60 ? step : 7 * step) {
    SCOPED_TRACE("power failed at change " + std::to_string(change));
    start_anew();
    disk_->fail_at(change);
    Story story;
    if (auto engine = open()) story.tell(**engine, write);
    finished = !disk_->is_dead();
    disk_->cut_power();
    const auto engine = reopen();
    ASSERT_TRUE(engine);
    const auto snapshot = engine->snapshot();
    for (int i = 0; i < kWritten; ++i) {
      const bool there = is_there(*snapshot, i);
      const bool acknowledged = i < static_cast<int>(story.acknowledged.size());
      if (i == 0 && story.erased) {
        EXPECT_FALSE(there) << "erased, and back";
      } else if (acknowledged && !(i == 0 && story.erasing)) {
        EXPECT_TRUE(there) << i << " was acknowledged and is lost";
      } else {
        EXPECT_FALSE(there && i > static_cast<int>(story.acknowledged.size())) << i << " was never asked for";
      }
    }
    EXPECT_TRUE(write(*engine, 1000)) << "the database takes no writes any more";
    ASSERT_FALSE(HasFailure());
    ++runs;
  }
  EXPECT_GT(runs, 60 / step) << "the power hardly ever failed";
}

TEST_F(PowerLoss, ConcurrentWritersLoseNothing) {
  for (std::uint64_t change = 40; change < 400; change += 60) {
    SCOPED_TRACE("power failed at change " + std::to_string(change));
    start_anew();
    std::vector<int> acknowledged;
    {
      auto engine = open();
      ASSERT_TRUE(engine);
      disk_->fail_at(change);
      std::mutex mutex;
      std::vector<std::jthread> writers;
      for (int writer = 0; writer < 4; ++writer) {
        writers.emplace_back([&, writer] {
          for (int i = writer; i < 4000 && write(**engine, i); i += 4) {
            std::lock_guard lock(mutex);
            acknowledged.push_back(i);
          }
        });
      }
    }
    ASSERT_TRUE(disk_->is_dead()) << "the writers ended before the power failed";
    const auto engine = reopen();
    ASSERT_TRUE(engine);
    for (const int i : acknowledged) EXPECT_TRUE(is_there(*engine->snapshot(), i)) << i;
    ASSERT_FALSE(HasFailure());
  }
}

// The other mode promises less, and this disk shows it: the remaining data is a prefix of the writes.
TEST_F(PowerLoss, WithoutFsyncTheEndIsLostAndNothingElse) {
  options_.durability = Durability::kOs;
  {
    auto engine = open();
    ASSERT_TRUE(engine);
    for (int i = 0; i < kWritten; ++i) ASSERT_TRUE(write(**engine, i));
    disk_->cut_power();
  }
  const auto engine = reopen();
  ASSERT_TRUE(engine);
  const auto snapshot = engine->snapshot();
  int found = 0;
  while (found < kWritten && is_there(*snapshot, found)) ++found;
  EXPECT_LT(found, kWritten) << "this disk forgets nothing";
  for (int i = found; i < kWritten; ++i) EXPECT_FALSE(is_there(*snapshot, i)) << "a gap before " << i;
}

}  // namespace
}  // namespace tidemark::kv
