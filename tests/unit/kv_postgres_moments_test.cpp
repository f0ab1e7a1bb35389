// Moments while a change is on its way: the database shows it to some readers before the owner knows of it, and from
// then on every reader sees it.
#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "common/postgres/claimed_engine.h"
#include "tests/support/socket_proxy.h"
#include "tests/unit/kv_postgres_fixture.h"

namespace tidemark::kv {
namespace {

using testing::Entries;
using testing::entries;
using testing::PostgresTest;
using testing::put;
using testing::run;
using testing::start;
using testing::value_of;
using tidemark::testing::SocketProxy;
using namespace std::chrono_literals;

class PostgresMomentsTest : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (server_ == nullptr) return;
    options_.lease = 60'000ms;
    options_.renewed_elsewhere = true;  // the owner sends nothing by itself
    proxy_ = std::make_unique<SocketProxy>(directory_.path() / ".s.PGSQL.5432", server_->socket());
    elsewhere_ = std::make_unique<ClaimedEngine>(options_);
    options_.url = "host=" + directory_.path().string() + " user=postgres dbname=postgres";
    engine_ = open(options_);
    ASSERT_TRUE(engine_);
    ASSERT_TRUE(run(*engine_, [](Transaction& txn) -> Result<void> {
                  for (const auto* key : {"a", "b"}) txn.put(key, "old");
                  return {};
                }).has_value());
    before_ = engine_->snapshot();
    ASSERT_EQ(value_of(*before_, "a"), "old");
  }

  /// Sends a transaction that replaces "a" and deletes "b". It does not arrive yet.
  void send_batch() {
    proxy_->cause(SocketProxy::Trouble::kHold);
    outcome_ = start(*engine_, [](Transaction& txn) -> Result<void> {
      txn.put("a", "new");
      txn.erase("b");
      return {};
    });
    proxy_->await_kept();
  }
  /// Commits it. The owner is not told.
  void commit_batch() { proxy_->release(); }
  void tell_batch() {
    proxy_->release();
    EXPECT_TRUE(outcome_.get().has_value());
    EXPECT_EQ(entries(*engine_->snapshot()), kAfter);
    EXPECT_EQ(entries(*before_), kBefore) << "a view stays as it was";
  }

  const Entries kBefore{{"a", "old"}, {"b", "old"}}, kAfter{{"a", "new"}};
  testing::TempDir directory_;
  std::unique_ptr<SocketProxy> proxy_;
  std::unique_ptr<ClaimedEngine> elsewhere_;  // of another process
  std::unique_ptr<PostgresEngine> engine_;
  std::shared_ptr<const Reader> before_;  // it would be shared
  std::future<Result<void>> outcome_;
};

TEST_F(PostgresMomentsTest, AQueryShowsWhatAPointReadHasShown) {
  send_batch();
  commit_batch();
  EXPECT_EQ(engine_->get("a")->value(), "new");
  EXPECT_EQ(entries(*engine_->snapshot()), kAfter);
  tell_batch();
}

/// Reads as the store reads an entity that get() does not find.
TEST_F(PostgresMomentsTest, OfABatchNobodySeesHalf) {
  send_batch();
  commit_batch();
  EXPECT_EQ(engine_->get("a")->value(), "new");
  EXPECT_EQ(*engine_->get("b"), std::nullopt);
  EXPECT_EQ(*engine_->snapshot()->get("b"), std::nullopt);
  tell_batch();
}

TEST_F(PostgresMomentsTest, AnOwnerShowsWhatWasSeenElsewhere) {
  const auto earlier = elsewhere_->snapshot();
  EXPECT_EQ(entries(*earlier), kBefore);
  send_batch();
  commit_batch();
  EXPECT_EQ(entries(*elsewhere_->snapshot()), kAfter);
  EXPECT_EQ(entries(*engine_->snapshot()), kAfter);
  tell_batch();
}

TEST_F(PostgresMomentsTest, OneThatBeganWhileAChangeWasOnItsWayIsNotShared) {
  send_batch();
  const auto between = engine_->snapshot();
  EXPECT_EQ(entries(*between), kBefore);
  commit_batch();
  EXPECT_EQ(*engine_->get("b"), std::nullopt);
  EXPECT_EQ(entries(*engine_->snapshot()), kAfter);
  tell_batch();
  EXPECT_EQ(entries(*between), kBefore);
}

TEST_F(PostgresMomentsTest, APartOfAnErasureIsSeenByAllReaders) {
  proxy_->cause(SocketProxy::Trouble::kHold);
  std::promise<Result<void>> erased;
  engine_->erase_ranges({{"b", "c"}}, [&](Result<void> outcome) { erased.set_value(std::move(outcome)); });
  proxy_->release();
  EXPECT_EQ(*elsewhere_->get("b"), std::nullopt);
  EXPECT_EQ(*engine_->snapshot()->get("b"), std::nullopt);
  proxy_->release();
  EXPECT_TRUE(erased.get_future().get().has_value());
}

/// A read that has begun is too old for later callers; the next one is for all of them.
TEST_F(PostgresMomentsTest, ThoseWhoWaitForOneShareTheNext) {
  options_.max_snapshots = 2;
  ClaimedEngine elsewhere(options_);
  const auto all_share = [&](const std::string& value) {
    EXPECT_TRUE(elsewhere.get("a").has_value());  // on the connection that is used next
    proxy_->cause(SocketProxy::Trouble::kHold);
    std::vector<std::shared_ptr<const Reader>> views(4);
    std::vector<std::jthread> readers;
    readers.emplace_back([&] { views[0] = elsewhere.snapshot(); });
    proxy_->await_kept();
    proxy_->release();  // it has begun
    EXPECT_TRUE(put(*engine_, "a", value).has_value());
    std::latch asked(3);
    for (std::size_t i = 1; i < views.size(); ++i) {
      readers.emplace_back([&, i] {
        asked.count_down();
        views[i] = elsewhere.snapshot();
      });
    }
    asked.wait();
    EXPECT_TRUE(put(*engine_, "c", value).has_value());  // takes longer than a read
    proxy_->release();
    readers.clear();
    std::size_t failed = 0;  // one moment too many
    for (std::size_t i = 1; i < views.size(); ++i) {
      const auto found = views[i]->get("a");
      if (found) EXPECT_EQ(*found, value);
      if (!found) ++failed;
    }
    return failed == 0;
  };
  int tries = 1;
  while (!all_share(std::to_string(tries))) ASSERT_LT(++tries, 100);
}

}  // namespace
}  // namespace tidemark::kv
