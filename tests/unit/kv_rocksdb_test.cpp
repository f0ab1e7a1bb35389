// Features of the engine on a disk alone: reopening, refusals that give advice, a failing disk.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <csignal>
#include <fstream>
#include <latch>
#include <thread>

#include "tests/support/wait_until.h"
#include "tests/unit/kv_test_support.h"

namespace tidemark::kv {
namespace {

namespace fs = std::filesystem;
using testing::entries;
using testing::erase_range;
using testing::put;
using testing::run;
using testing::small_options;
using testing::start;
using ::testing::Test;
using testing::value_of;

class RocksDbTest : public Test {
 protected:
  std::unique_ptr<Engine> open() {
    auto opened = open_rocksdb(small_options(db_));
    EXPECT_TRUE(opened.has_value()) << opened.error().message << " | " << opened.error().detail;
    return opened ? std::move(*opened) : nullptr;
  }
  Error open_failure() {
    auto opened = open_rocksdb(small_options(db_));
    EXPECT_FALSE(opened.has_value());
    return opened ? Error{} : opened.error();
  }
  /// Writes enough to have sorted files, with the newest entries still in the log.
  void fill() {
    auto engine = open();
    for (int i = 0; i < 300; ++i) {
      // Incompressible, so that the files have many blocks.
      std::string value(4096, '\0');
      for (auto& c : value) c = static_cast<char>(next_random());
      ASSERT_TRUE(put(*engine, "k" + std::to_string(i), value).has_value());
    }
  }
  std::vector<fs::path> files(std::string_view extension) {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(db_)) {
      if (entry.path().extension() == extension) found.push_back(entry.path());
    }
    return found;
  }
  static void overwrite(const fs::path& path, std::streamoff at, std::size_t count) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    for (std::size_t i = 0; i < count; ++i) file.put('\x5A');
    ASSERT_TRUE(file.good());
  }
  unsigned next_random() { return state_ = state_ * 1664525U + 1013904223U, state_ >> 24; }

  testing::TempDir dir_;
  fs::path db_ = dir_.path() / "deep" / "db";
  unsigned state_ = 1;
};

#define EXPECT_MENTIONS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(RocksDbTest, FindsEverythingAfterReopening) {
  fill();
  auto engine = open();
  ASSERT_TRUE(engine);
  EXPECT_EQ(entries(*engine->snapshot()).size(), 300U);
}

TEST_F(RocksDbTest, TheDestructorCompletesWhatIsQueued) {
  std::vector<std::future<Result<void>>> outcomes;
  {
    auto engine = open();
    for (int i = 0; i < 2000; ++i) {
      outcomes.push_back(start(*engine, [i](Transaction& txn) -> Result<void> {
        txn.put("k" + std::to_string(i), "");
        return {};
      }));
    }
  }
  for (auto& outcome : outcomes) EXPECT_TRUE(outcome.get().has_value());
  EXPECT_EQ(entries(*open()->snapshot()).size(), 2000U);
}

/// Writes into the log when it is destroyed.
struct LastWord {
  std::vector<std::string>& log;
  std::string word;
  ~LastWord() { log.push_back(word); }
};

/// Its transaction's body captures its frame by reference.
Task<void> waits_for_a_transaction(Engine& engine, std::vector<std::string>& log) {
  const LastWord frame{log, "frame gone"};
  std::string captured = "body ran";
  const auto outcome = co_await engine.transact(
      [&, body = std::make_shared<LastWord>(log, "body gone")](Transaction& txn) -> Result<void> {
        log.push_back(captured);
        txn.put("a", captured);
        return {};
      });
  log.push_back(outcome ? "resumed" : "failed");
}

/// Has an engine that is busy until the gate opens, with a coroutine that waits behind it.
class WaitingBody : public RocksDbTest {
 protected:
  void SetUp() override {
    engine_->submit(
        [opened = gate_.get_future().share()](Transaction&) -> Result<void> {
          opened.wait();
          return {};
        },
        {});
    asio::co_spawn(*context_, waits_for_a_transaction(*engine_, log_),
                   asio::bind_cancellation_slot(cancellation_.slot(), asio::detached));
    context_->poll();
  }

  std::vector<std::string> log_;
  std::promise<void> gate_;
  asio::cancellation_signal cancellation_;
  std::unique_ptr<asio::io_context> context_ = std::make_unique<asio::io_context>();
  std::unique_ptr<Engine> engine_ = open();
};

TEST_F(WaitingBody, RunsAndGoesBeforeItsCoroutineIsDestroyedAtShutdown) {
  context_->stop();
  gate_.set_value();
  engine_->drain();
  EXPECT_EQ(log_, (std::vector<std::string>{"body ran", "body gone"}));
  context_.reset();
  EXPECT_EQ(log_.back(), "frame gone");
  EXPECT_EQ(log_.size(), 3U);
}

TEST_F(WaitingBody, KeepsItsCoroutineThroughACancellation) {
  cancellation_.emit(asio::cancellation_type::all);
  context_->poll();
  EXPECT_TRUE(log_.empty());
  gate_.set_value();
  context_->run();
  EXPECT_EQ(log_, (std::vector<std::string>{"body ran", "body gone", "resumed", "frame gone"}));
}

TEST_F(WaitingBody, RunsBeforeTheEngineIsClosed) {
  gate_.set_value();
  engine_.reset();
  EXPECT_EQ(log_, (std::vector<std::string>{"body ran", "body gone"}));
  context_->run();
  EXPECT_EQ(log_.back(), "frame gone");
}

TEST_F(RocksDbTest, RangesMayBeginBesideKeysThatAreWritten) {
  auto engine = open();
  ASSERT_TRUE(engine);
  const auto key = [](int number) { return "the same beginning " + std::to_string(100'000 + number); };
  for (int i = 0; i < 3000; ++i) {
    ASSERT_TRUE(put(*engine, key(i), "value").has_value());
    if (i % 10 == 9) ASSERT_TRUE(erase_range(*engine, {key(i - 9), key(i)}).has_value());
  }
  engine.reset();
  engine = open();
  for (int i = 0; i < 3000; ++i) EXPECT_EQ(value_of(*engine->snapshot(), key(i)), i % 10 == 9 ? "value" : "<none>");
}

TEST_F(RocksDbTest, AFullQueueRefusesAtOnce) {
  auto options = small_options(db_);
  options.max_queued_transactions = 3;
  auto engine = std::move(*open_rocksdb(options));
  std::latch running(1), release(1);
  auto blocked = start(*engine, [&](Transaction&) -> Result<void> {
    running.count_down();
    release.wait();
    return {};
  });
  running.wait();
  std::vector<std::future<Result<void>>> waiting;
  for (int i = 0; i < 3; ++i) waiting.push_back(start(*engine, [](Transaction&) -> Result<void> { return {}; }));
  EXPECT_EQ(engine->queue_depth(), 3U);
  EXPECT_TRUE(put(*engine, "a", "").failed_with(ErrorCode::kServerBusy));
  release.count_down();
  EXPECT_TRUE(blocked.get().has_value());
  for (auto& outcome : waiting) EXPECT_TRUE(outcome.get().has_value());
  EXPECT_TRUE(put(*engine, "a", "").has_value());
}

TEST_F(RocksDbTest, GroupsLargerThanTheByteLimitAreSplitNotRefused) {
  auto engine = open();
  const std::string megabyte(1UL << 20, 'x');
  std::vector<std::future<Result<void>>> outcomes;
  for (int i = 0; i < 20; ++i) {
    outcomes.push_back(start(*engine, [i, &megabyte](Transaction& txn) -> Result<void> {
      txn.put("k" + std::to_string(i), megabyte);
      return {};
    }));
  }
  for (auto& outcome : outcomes) EXPECT_TRUE(outcome.get().has_value());
  EXPECT_EQ(entries(*engine->snapshot()).size(), 20U);
}

// A queue in the database, filled and emptied without waiting: most bodies run while the group before theirs is still
// on its way to the disk, and must see its puts and erasures.
TEST_F(RocksDbTest, BodiesSeeTheGroupThatIsBeingWritten) {
  constexpr int kRounds = 1500;
  auto engine = open();
  const auto name = [](int number) {
    auto digits = std::to_string(number);
    return "q" + std::string(6 - digits.size(), '0') + digits;
  };
  std::vector<std::string> popped;
  std::vector<std::future<Result<void>>> outcomes;
  TransactionBody push = [&](Transaction& txn) -> Result<void> {
    auto last = TRY(txn.get("last"));
    const int number = last ? std::stoi(*last) + 1 : 0;
    txn.put("last", std::to_string(number));
    txn.put(name(number), std::string(100, 'x'));
    return {};
  };
  TransactionBody pop = [&](Transaction& txn) -> Result<void> {
    const auto first = txn.scan({"q", "r"});
    if (!first->valid()) return fail(ErrorCode::kInternalError, "the queue is empty");
    const std::string key(first->key());
    popped.push_back(key);
    txn.erase(key);
    EXPECT_EQ(testing::value_of(txn, key), "<none>");
    return {};
  };
  for (int i = 0; i < kRounds; ++i) {
    outcomes.push_back(testing::start(*engine, push));
    outcomes.push_back(testing::start(*engine, push));
    outcomes.push_back(testing::start(*engine, pop));
  }
  for (auto& outcome : outcomes) ASSERT_TRUE(outcome.get().has_value());
  ASSERT_EQ(popped.size(), static_cast<std::size_t>(kRounds));
  for (int i = 0; i < kRounds; ++i) ASSERT_EQ(popped[static_cast<std::size_t>(i)], name(i));
  const auto left = testing::entries(*engine->snapshot(), {"q", "r"});
  ASSERT_EQ(left.size(), static_cast<std::size_t>(kRounds));
  EXPECT_EQ(left.front().first, name(kRounds));
  EXPECT_EQ(left.back().first, name(2 * kRounds - 1));
}

TEST_F(RocksDbTest, ASecondOpenSaysWhoIsInTheWay) {
  auto engine = open();
  const auto error = open_failure();
  EXPECT_EQ(error.code, ErrorCode::kConfigInvalid);
  EXPECT_MENTIONS(error.message, "nother process has this database open");
  EXPECT_MENTIONS(error.message, db_.string());
}

TEST_F(RocksDbTest, AMissingPermissionIsNamed) {
  fs::create_directories(db_);
  fs::permissions(db_, fs::perms::owner_read);
  const bool was_root = ::geteuid() == 0;  // root may write anywhere
  if (was_root) {
    fs::permissions(dir_.path(), fs::perms::all);
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const auto error = open_failure();
  if (was_root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  fs::permissions(db_, fs::perms::owner_all);
  EXPECT_EQ(error.code, ErrorCode::kConfigInvalid);
  EXPECT_MENTIONS(error.message, db_.string());
  EXPECT_MENTIONS(error.message, "check owner and permissions");
}

TEST_F(RocksDbTest, APathThatIsAFileIsNamed) {
  fs::create_directories(db_.parent_path());
  std::ofstream(db_) << "not a directory";
  const auto error = open_failure();
  EXPECT_EQ(error.code, ErrorCode::kConfigInvalid);
  EXPECT_MENTIONS(error.message, db_.string());
}

TEST_F(RocksDbTest, ADamagedCurrentIsAnError) {
  fill();
  std::ofstream(db_ / "CURRENT", std::ios::trunc) << "garbage";
  const auto error = open_failure();
  EXPECT_EQ(error.code, ErrorCode::kCorruption);
  EXPECT_MENTIONS(error.message, db_.string());
  EXPECT_MENTIONS(error.message, "backup");
}

TEST_F(RocksDbTest, AMissingCurrentIsNotTakenForANewDatabase) {
  fill();
  fs::remove(db_ / "CURRENT");
  EXPECT_EQ(open_failure().code, ErrorCode::kCorruption);
  EXPECT_FALSE(files(".sst").empty());
}

TEST_F(RocksDbTest, ADamagedManifestIsAnError) {
  fill();
  for (const auto& entry : fs::directory_iterator(db_)) {
    if (entry.path().filename().string().starts_with("MANIFEST")) overwrite(entry.path(), 20, 16);
  }
  EXPECT_EQ(open_failure().code, ErrorCode::kCorruption);
}

TEST_F(RocksDbTest, AMissingFileIsAnError) {
  fill();
  ASSERT_FALSE(files(".sst").empty());
  fs::remove(files(".sst").front());
  EXPECT_EQ(open_failure().code, ErrorCode::kCorruption);
}

TEST_F(RocksDbTest, DamageInTheMiddleOfTheLogIsAnErrorNotALoss) {
  {
    auto engine = open();
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(put(*engine, "k" + std::to_string(i), std::string(1000, 'x')).has_value());
  }
  for (const auto& log : files(".log")) {
    if (fs::file_size(log) > 20000) overwrite(log, 10000, 16);
  }
  EXPECT_EQ(open_failure().code, ErrorCode::kCorruption);
}

TEST_F(RocksDbTest, ATornEndOfTheLogIsNotAnError) {
  {
    auto engine = open();
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(put(*engine, "k" + std::to_string(i), std::string(1000, 'x')).has_value());
  }
  for (const auto& log : files(".log")) {
    if (fs::file_size(log) > 20000) fs::resize_file(log, fs::file_size(log) - 500);
  }
  auto engine = open();
  ASSERT_TRUE(engine);
  EXPECT_EQ(entries(*engine->snapshot()).size(), 49U);
}

TEST_F(RocksDbTest, ADamagedBlockFailsTheReadAndTheTransaction) {
  fill();
  for (const auto& file : files(".sst")) {
    overwrite(file, 64, 4096);
  }
  auto opened = open_rocksdb(small_options(db_));
  if (!opened) {
    EXPECT_EQ(opened.error().code, ErrorCode::kCorruption);
    return;
  }
  auto& engine = **opened;
  auto cursor = engine.snapshot()->scan({});
  while (cursor->valid()) cursor->next();
  EXPECT_TRUE(cursor->status().failed_with(ErrorCode::kCorruption));
  // A body that overlooks the failed walk must not commit its conclusions.
  auto outcome = run(engine, [](Transaction& txn) -> Result<void> {
    for (auto walk = txn.scan({}); walk->valid(); walk->next()) continue;
    txn.put("conclusion", "");
    return {};
  });
  EXPECT_TRUE(outcome.failed_with(ErrorCode::kCorruption));
  EXPECT_EQ(value_of(*engine.snapshot(), "conclusion"), "<none>");
}

/// While it lives, no file may grow beyond `bytes`: simulates a failing disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old_);
    rlimit limit{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_{};
  void (*old_handler_)(int) = nullptr;
};

class ValuesApartTest : public RocksDbTest {
 protected:
  static constexpr std::size_t kValues = 16'384, kValueBytes = 4096, kTogether = 64;

  ValuesApartTest() {
    auto options = small_options(db_);
    options.write_buffer_bytes = 1UL << 20;
    options.write_buffers = 6;
    options.apart_from_bytes = 2048;
    engine_ = open_rocksdb(options).value();
  }
  /// Writes the values of every `step`th key. All transactions write one more key, so that files are merged and not
  /// only moved.
  void write(std::size_t step) {
    for (std::size_t first = 0; first < kValues; first += kTogether * step) {
      const auto written = run(*engine_, [&](Transaction& txn) -> Result<void> {
        for (std::size_t i = 0; i < kTogether * step; i += step) {
          txn.put("key" + std::to_string(kValues + first + i), std::string(kValueBytes, static_cast<char>(i)));
        }
        txn.put("last", std::to_string(first));
        return {};
      });
      ASSERT_TRUE(written);
    }
  }
  std::uint64_t moved_bytes() {
    std::uint64_t bytes = 0;
    wait_until([&] {
      const auto figures = engine_->figures();
      bytes = figures.compaction_written_bytes;
      return figures.running_compactions + figures.running_flushes == 0;
    });
    return bytes;
  }

  std::unique_ptr<RocksDbEngine> engine_;
};

TEST_F(ValuesApartTest, AreMovedOnlyWhileThereIsGarbage) {
  write(1);
  const auto without_garbage = moved_bytes();
  EXPECT_LT(without_garbage, kValues * kValueBytes / 8) << "the keys alone";
  for (int round = 0; round < 4; ++round) write(2);
  EXPECT_GT(moved_bytes() - without_garbage, kValues * kValueBytes / 4) << "what is between garbage";
}

TEST_F(RocksDbTest, CountsItsGroupsItsLogAndItsLookups) {
  auto engine = std::move(*open_rocksdb(small_options(db_)));
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(put(*engine, "key" + std::to_string(i), "value").has_value());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(engine->get("key1")->value(), "value");
  auto figures = engine->figures();
  EXPECT_EQ(figures.asked_reads, 1U);
  EXPECT_EQ(figures.recent_reads, 2U);
  EXPECT_EQ(figures.waits_us.values(), 5U);
  EXPECT_EQ(figures.group_transactions.sum, 5U);
  EXPECT_EQ(figures.group_transactions.values(), figures.log_syncs_us.values()) << "a group is synced once";
  EXPECT_GT(figures.log_bytes, 5 * std::string("key1value").size());
  EXPECT_GE(figures.memtable_hits, 1U);
  EXPECT_FALSE(figures.writes_stopped);
  EXPECT_EQ(figures.stalled_us, 0U);
}

TEST_F(RocksDbTest, AFailingDiskFailsTheTransactionAndAllAfterIt) {
  auto options = small_options(db_);
  options.write_buffer_bytes = 16UL << 20;
  std::unique_ptr<Engine> engine = std::move(*open_rocksdb(options));
  ASSERT_TRUE(put(*engine, "before", "1").has_value());
  {
    FileSizeLimit limit(256UL << 10);
    auto outcome = put(*engine, "big", std::string(1UL << 20, 'x'));
    ASSERT_TRUE(outcome.failed_with(ErrorCode::kStorageFailure));
    EXPECT_FALSE(outcome.error().detail.empty());
  }
  // The disk works again, but its contents are known only after opening anew.
  EXPECT_TRUE(put(*engine, "after", "1").failed_with(ErrorCode::kStorageFailure));
  EXPECT_FALSE(erase_range(*engine, {"a", "b"}).has_value());
  EXPECT_EQ(value_of(*engine->snapshot(), "before"), "1");
  engine.reset();
  engine = open();
  ASSERT_TRUE(engine);
  EXPECT_EQ(value_of(*engine->snapshot(), "before"), "1");
  EXPECT_EQ(value_of(*engine->snapshot(), "after"), "<none>");
  EXPECT_TRUE(put(*engine, "after", "2").has_value());
}

}  // namespace
}  // namespace tidemark::kv
