#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>

#include "common/base/log.h"
#include "common/process/failures.h"
#include "common/process/metrics.h"
#include "common/process/process.h"
#include "tests/support/captured_log.h"

namespace tidemark::process {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Runtime : public ::testing::Test {
 protected:
  Runtime() {
    std::string name = (fs::temp_directory_path() / "tidemark-process-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
  }
  ~Runtime() override { fs::remove_all(directory_); }
  static std::string contents(const fs::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  fs::path directory_;
};

TEST_F(Runtime, PidFileHoldsThePidAndGoesWithItsOwner) {
  auto path = directory_ / "run" / "table.pid";
  {
    auto file = PidFile::create(directory_, "table");
    ASSERT_TRUE(file);
    EXPECT_EQ(contents(path), std::to_string(::getpid()) + "\n");
    PidFile moved = std::move(*file);
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_TRUE(fs::is_empty(directory_ / "run"));
}

TEST_F(Runtime, PidFileReplacesAStaleOneAndSparesASuccessors) {
  auto path = directory_ / "run" / "table.pid";
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "1000000000\n";
  {
    auto file = PidFile::create(directory_, "table");
    ASSERT_TRUE(file);
    EXPECT_EQ(contents(path), std::to_string(::getpid()) + "\n");
    fs::remove(path);
    std::ofstream(path) << "1\n";
  }
  EXPECT_EQ(contents(path), "1\n");
}

TEST_F(Runtime, PidFileIsOneProcessAlone) {
  auto file = PidFile::create(directory_, "table");
  ASSERT_TRUE(file);
  const auto second = PidFile::create(directory_, "table");
  ASSERT_TRUE(second.failed_with(ErrorCode::kConfigInvalid));
  EXPECT_THAT(second.error().message, AllOf(HasSubstr(directory_.string()), HasSubstr(std::to_string(::getpid()))));
  EXPECT_EQ(contents(directory_ / "run" / "table.pid"), std::to_string(::getpid()) + "\n");
  EXPECT_TRUE(PidFile::create(directory_, "other"));
}

TEST_F(Runtime, PidFileWaitsForOneThatIsBeingKilled) {
  auto dying = std::make_unique<Result<PidFile>>(PidFile::create(directory_, "table"));
  ASSERT_TRUE(*dying);
  auto next = std::async(std::launch::async, [this] { return PidFile::create(directory_, "table"); });
  EXPECT_EQ(next.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  dying.reset();
  EXPECT_TRUE(next.get());
}

TEST_F(Runtime, NameOfAPidFileIsAFilesName) {
  for (const auto* wrong : {"", "a/b", "..", "a b", "\xC3\xA4"}) {
    EXPECT_TRUE(PidFile::create(directory_, wrong).failed_with(ErrorCode::kConfigInvalid)) << wrong;
  }
  EXPECT_TRUE(PidFile::create(directory_, "worker-1.Backup_2"));
}

TEST_F(Runtime, ConnectionsAreAsManyAsThereAreFilesFor) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(make_room_for_connections(10), 10);
  rlimit raised{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &raised), 0);
  EXPECT_EQ(raised.rlim_cur, before.rlim_max);
  EXPECT_LT(make_room_for_connections(std::size_t{1} << 40), std::size_t{1} << 40);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(Runtime, PreparedDirectoryIsPrivate) {
  auto inner = directory_ / "a" / "b";
  ASSERT_TRUE(prepare_directory(inner));
  struct stat found{};
  ASSERT_EQ(::stat(inner.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0700U);
  EXPECT_TRUE(fs::is_empty(inner));
  EXPECT_TRUE(prepare_directory(inner));
  EXPECT_TRUE(prepare_directory(inner.string() + "/"));
}

TEST_F(Runtime, DirectoryThatCannotBeIsAClearError) {
  std::ofstream(directory_ / "file") << "x";
  for (const auto& wrong : {directory_ / "file", directory_ / "file" / "below"}) {
    auto prepared = prepare_directory(wrong);
    ASSERT_TRUE(prepared.failed_with(ErrorCode::kConfigInvalid));
    EXPECT_THAT(prepared.error().message, AllOf(HasSubstr(wrong.string()), HasSubstr("name another one")));
  }
  EXPECT_TRUE(prepare_directory("").failed_with(ErrorCode::kConfigInvalid));
}

TEST_F(Runtime, ReadyLineGoesToStdout) {
  ::testing::internal::CaptureStdout();
  announce_ready("table_store port=10002");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "ready table_store port=10002\n");
}

TEST_F(Runtime, ExitCodesTellConfigurationFromTheRest) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(report_startup_failure(make_error(ErrorCode::kConfigInvalid, "wrong port")), 2);
  EXPECT_EQ(report_startup_failure(make_error(ErrorCode::kStorageFailure, "no disk")), 1);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "error: wrong port\nerror: no disk\n");
}

// gtest runs these in a child process, which may end.
TEST(ShutdownDeathTest, FirstSignalReturnsFromTheWait) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        block_signals();
        ::raise(SIGTERM);
        wait_for_shutdown();
        std::_Exit(7);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST(ShutdownDeathTest, SecondSignalEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        block_signals();
        ::raise(SIGINT);
        wait_for_shutdown();
        ::raise(SIGTERM);
        std::_Exit(7);
      },
      ::testing::KilledBySignal(SIGTERM), "");
}

TEST(ShutdownDeathTest, SighupReloadsAndTheWaitGoesOn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_IGN);  // as nohup leaves it
        block_signals();
        ::raise(SIGHUP);
        int reloads = 0;
        wait_for_shutdown([&] {
          if (++reloads < 2) {
            ::raise(SIGHUP);
          } else {
            ::raise(SIGTERM);
          }
        });
        std::_Exit(reloads);
      },
      ::testing::ExitedWithCode(2), "");
}

TEST(Logging, TextKeepsOneMessageOnOneLine) {
  ::testing::internal::CaptureStderr();
  start_logging("table_store", {"info", "text"});
  log_info("key=value forged={}", "a\nb\x1b[0m");
  log_debug("not shown");
  auto text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text,
              AllOf(HasSubstr(" info table_store key=value forged=a\\nb\\x1b[0m\n"), Not(HasSubstr("not shown"))));
  EXPECT_THAT(text, ::testing::ContainsRegex("^20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9:.]*Z "));
}

TEST(Logging, JsonIsAlwaysWellFormed) {
  ::testing::internal::CaptureStderr();
  start_logging("table_store", {"debug", "json"});
  std::string hostile = "quote=\" line=\n bytes=\xff";
  log_debug("{}", hostile);
  auto text = ::testing::internal::GetCapturedStderr();
  auto line = nlohmann::json::parse(text);
  EXPECT_EQ(line["level"], "debug");
  EXPECT_EQ(line["process"], "table_store");
  EXPECT_THAT(line["message"].get<std::string>(), ::testing::StartsWith("quote=\" line=\n bytes="));
}

TEST(Failures, AreALineOfTheLogIfTheyAreTheServersOwn) {
  CapturedLog log;
  auto error = make_error(ErrorCode::kStorageFailure);
  error.detail = "fsync: No space left on device";
  log_failed_request("11111111-2222", "PUT /account/q", error);
  log_failed_request("ignored", "GET /account/q", make_error(ErrorCode::kQueueNotFound));
  log_failed_request("ignored", "PUT /account/q?comp=x", make_error(ErrorCode::kNotImplemented));
  log_failed_call("table.get", make_error(ErrorCode::kTableNotFound));
  log_failed_call("table.mutate", error);
  log_failed_task("queue.upkeep", error);
  EXPECT_EQ(log.text(),
            "error request failed request_id=11111111-2222 operation=\"PUT /account/q\" code=StorageFailure "
            "detail=\"fsync: No space left on device\"\n"
            "error internal call failed method=table.mutate code=StorageFailure "
            "detail=\"fsync: No space left on device\"\n"
            "error background task failed task=queue.upkeep code=StorageFailure "
            "detail=\"fsync: No space left on device\"\n");
}

TEST(Failures, DoNotFillTheLog) {
  CapturedLog log;
  for (int i = 0; i < 1000; ++i) log_failed_task("disk", make_error(ErrorCode::kStorageFailure));
  const auto text = log.text();
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 200);
}

TEST(Metrics, RenderAsText) {
  Metrics metrics;
  auto& requests = metrics.counter("tidemark_requests_total", "Requests.", {{"method", "GET"}});
  requests.Increment(3);
  EXPECT_EQ(&requests, &metrics.counter("tidemark_requests_total", "Requests.", {{"method", "GET"}}));
  metrics.latency_histogram("tidemark_request_seconds", "Latency.").Observe(0.003);
  EXPECT_THAT(metrics.render(),
              AllOf(HasSubstr("# TYPE tidemark_requests_total counter\ntidemark_requests_total{method=\"GET\"} 3\n"),
                    HasSubstr("tidemark_request_seconds_bucket{le=\"0.005\"} 1\n"),
                    HasSubstr("# TYPE process_resident_memory_bytes gauge\n"),
                    ::testing::ContainsRegex("\nprocess_resident_memory_bytes [1-9]"),
                    HasSubstr("# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total ")));
}

}  // namespace
}  // namespace tidemark::process
