// The features of the engine on a disk that copies and checks need: held writes, checkpoints, and damage that is found.
#include <gtest/gtest.h>

#include <fstream>

#include "common/kv/check.h"
#include "tests/unit/kv_test_support.h"

namespace tidemark::kv {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::entries;
using testing::put;
using testing::small_options;
using testing::start;
using testing::value_of;

class StoredEngineTest : public ::testing::Test {
 protected:
  std::unique_ptr<StoredEngine> open(const std::string& name = "db") {
    auto opened = open_rocksdb(small_options(dir_.path() / name));
    EXPECT_TRUE(opened.has_value()) << opened.error().message << opened.error().detail;
    return opened ? std::move(*opened) : nullptr;
  }
  std::vector<fs::path> files(std::string_view extension) {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(dir_.path() / "db")) {
      const auto name = entry.path().filename().string();
      if (entry.path().extension() == extension || name.starts_with(extension)) found.push_back(entry.path());
    }
    return found;
  }
  static void flip(const fs::path& path, std::uintmax_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const auto byte = static_cast<char>(file.get() ^ 4);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
  }
  static std::uint64_t findings(const StoredEngine& engine) {
    CheckRun run;
    EXPECT_TRUE(check_files(engine, run).has_value());
    return run.report().found;
  }

  testing::TempDir dir_;
};

std::future<Result<void>> put_later(Engine& engine, const std::string& key) {
  return start(engine, [key](Transaction& txn) -> Result<void> {
    txn.put(key, "v");
    return {};
  });
}

TEST_F(StoredEngineTest, HeldWritesWaitAndThenHappenInOrder) {
  auto engine = open();
  ASSERT_TRUE(put(*engine, "a", "v").has_value());
  ASSERT_TRUE(engine->hold_writes(10s).has_value());
  std::vector<std::future<Result<void>>> waiting;
  for (int n = 0; n < 50; ++n) waiting.push_back(put_later(*engine, "b" + std::to_string(n)));
  EXPECT_EQ(waiting.back().wait_for(20ms), std::future_status::timeout);
  EXPECT_EQ(value_of(*engine->snapshot(), "a"), "v");
  EXPECT_EQ(value_of(*engine->snapshot(), "b0"), "<none>");
  EXPECT_TRUE(engine->hold_writes(1s).failed_with(ErrorCode::kServerBusy));
  const auto held = engine->resume_writes();
  ASSERT_TRUE(held.has_value());
  EXPECT_GE(*held, 20ms);
  for (auto& outcome : waiting) EXPECT_TRUE(outcome.get().has_value());
  EXPECT_EQ(entries(*engine->snapshot()).size(), 51U);
}

TEST_F(StoredEngineTest, AHoldEndsByItselfAndThenItIsNoCut) {
  auto engine = open();
  ASSERT_TRUE(engine->hold_writes(5ms).has_value());
  EXPECT_TRUE(put(*engine, "a", "v").has_value());
  EXPECT_TRUE(engine->resume_writes().failed_with(ErrorCode::kOperationTimedOut));
  EXPECT_TRUE(engine->resume_writes().failed_with(ErrorCode::kOperationTimedOut));
  EXPECT_TRUE(put(*engine, "b", "v").has_value());
}

TEST_F(StoredEngineTest, TheEndOfTheEngineEndsAHold) {
  auto engine = open();
  ASSERT_TRUE(engine->hold_writes(1h).has_value());
  auto outcome = put_later(*engine, "a");
  engine.reset();
  EXPECT_TRUE(outcome.get().has_value());
}

TEST_F(StoredEngineTest, ACheckpointHasWhatWasWrittenBeforeTheHoldAndNothingAfter) {
  auto engine = open();
  for (int n = 0; n < 100; ++n) ASSERT_TRUE(put(*engine, "k" + std::to_string(n), std::string(4096, 'x')).has_value());
  ASSERT_TRUE(engine->flush().has_value());
  ASSERT_TRUE(put(*engine, "in the log", "v").has_value());
  ASSERT_TRUE(engine->hold_writes(10s).has_value());
  auto later = put_later(*engine, "later");
  ASSERT_TRUE(engine->checkpoint(dir_.path() / "copy").has_value());
  ASSERT_TRUE(engine->resume_writes().has_value());
  ASSERT_TRUE(later.get().has_value());
  auto copy = open("copy");
  EXPECT_EQ(entries(*copy->snapshot()).size(), 101U);
  EXPECT_EQ(value_of(*copy->snapshot(), "in the log"), "v");
}

TEST_F(StoredEngineTest, AFlippedBitAnywhereInAFileIsFound) {
  auto engine = open();
  for (int n = 0; n < 100; ++n) ASSERT_TRUE(put(*engine, "k" + std::to_string(n), std::string(500, 'x')).has_value());
  ASSERT_TRUE(engine->flush().has_value());
  EXPECT_EQ(findings(*engine), 0U);
  const auto rows = files(".sst").at(0);
  const auto size = fs::file_size(rows);
  for (const auto at : {std::uintmax_t{0}, size / 3, size / 2, size - 60, size - 1}) {
    flip(rows, at);
    EXPECT_EQ(findings(*engine), 1U) << at;
    flip(rows, at);
  }
  const auto manifest = files("MANIFEST").at(0);
  flip(manifest, fs::file_size(manifest) / 2);
  EXPECT_EQ(findings(*engine), 1U);
  flip(manifest, fs::file_size(manifest) / 2);
  EXPECT_EQ(findings(*engine), 0U);
}

TEST_F(StoredEngineTest, ADamagedLengthIsNotTakenForTheEndOfTheLog) {
  {
    auto engine = open();
    ASSERT_TRUE(put(*engine, "a", std::string(100, 'x')).has_value());
    ASSERT_TRUE(put(*engine, "b", std::string(100, 'x')).has_value());
  }
  const auto log = files(".log").at(0);
  flip(log, 5);  // the high byte of the first record's length: the library would see an empty log
  const auto opened = open_rocksdb(small_options(dir_.path() / "db"));
  EXPECT_TRUE(opened.failed_with(ErrorCode::kCorruption));
  flip(log, 5);
  EXPECT_EQ(entries(*open()->snapshot()).size(), 2U);
}

TEST_F(StoredEngineTest, ALogThatWasCutOffIsWhatAKillLeaves) {
  {
    auto engine = open();
    ASSERT_TRUE(put(*engine, "a", std::string(100, 'x')).has_value());
    ASSERT_TRUE(put(*engine, "b", std::string(100, 'x')).has_value());
  }
  const auto log = files(".log").at(0);
  fs::resize_file(log, fs::file_size(log) - 30);
  EXPECT_EQ(entries(*open()->snapshot()).size(), 1U);
}

TEST_F(StoredEngineTest, ReadingAloneChangesNothing) {
  {
    auto engine = open();
    ASSERT_TRUE(put(*engine, "a", "v").has_value());
  }
  const auto log = files(".log").at(0);
  const auto before = fs::last_write_time(log);
  auto engine = open_rocksdb_to_read(small_options(dir_.path() / "db"));
  ASSERT_TRUE(engine.has_value());
  EXPECT_EQ(value_of(*(*engine)->snapshot(), "a"), "v");
  EXPECT_EQ(findings(**engine), 0U);
  EXPECT_FALSE(put(**engine, "b", "v").has_value());
  EXPECT_EQ(fs::last_write_time(log), before);
}

TEST_F(StoredEngineTest, ACheckEndsWhenItsTurnsEnd) {
  auto engine = open();
  for (int n = 0; n < 400; ++n) ASSERT_TRUE(put(*engine, "k" + std::to_string(n), std::string(4096, 'x')).has_value());
  CheckRun run([](std::uint64_t) { return false; });
  const auto rows = engine->snapshot();
  const auto walked = check_rows(*rows, {}, run, [](auto, auto) { return Result<void>(); });
  EXPECT_TRUE(walked.failed_with(ErrorCode::kCancelled));
}

}  // namespace
}  // namespace tidemark::kv
