// The end of a keeper, over a store whose answers the test holds back.
#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "workers/runtime/keeper.h"

namespace tidemark::workers {
namespace {

using std::chrono::seconds;

struct Named {
  std::string id;
};

/// Owner rows in memory. While `holds` names a function, its calls wait.
class HeldStore {
 public:
  explicit HeldStore(Clock& clock) : clock_(clock) {}
  Task<Result<table_store::Version>> changes() {
    co_await pass("changes");
    co_return 1;
  }
  Task<Result<std::vector<Named>>> all() {
    co_await pass("all");
    co_return things;
  }
  Task<Result<std::map<std::string, jobs::Owner>>> all_owners() { co_return rows; }
  Task<Result<jobs::Owner>> owner(std::string id) { co_return rows[id]; }
  Task<Result<bool>> swap_owner(std::string id, jobs::Owner& owner) {
    co_await pass("swap_owner");
    ++owner.version;
    rows[id] = owner;
    if (!id.starts_with(jobs::kKeeperRow)) holds.merge(holds_after_claims);
    co_return true;
  }
  Task<Result<void>> remove_owner(std::string id, jobs::Owner) {
    rows.erase(id);
    co_return Result<void>{};
  }
  void let_go(std::string_view function) {
    holds.erase(std::string(function));
    released_.notify_all();
  }

  std::vector<Named> things{{"a"}, {"b"}, {"c"}};
  std::map<std::string, jobs::Owner> rows;
  std::set<std::string> holds, holds_after_claims;

 private:
  Task<void> pass(std::string function) {
    while (holds.contains(function)) co_await released_.wait(clock_, std::chrono::hours(1));
  }
  Clock& clock_;
  Signal released_;
};

struct HeldServices {
  Clock& clock;
  HeldStore& store;
};

/// Ends as soon as it is told to.
class PlainOwner {
 public:
  explicit PlainOwner(std::uint64_t epoch) : epoch_(epoch) {}
  static std::shared_ptr<PlainOwner> create(HeldServices, const Named&, std::uint64_t epoch) {
    return std::make_shared<PlainOwner>(epoch);
  }
  void start(const Executor&) {}
  void update(const Named&) {}
  void stop() { ended_ = true; }
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }

 private:
  std::uint64_t epoch_;
  bool ended_ = false;
};

struct HeldKind {
  using Thing = Named;
  using Owner = PlainOwner;
  using Services = HeldServices;
  static constexpr const char* kTask = "test.keeper";
};

class WorkersKeeper : public ::testing::Test {
 protected:
  void pass(Duration time) {
    clock_.advance(time);
    io_.restart();
    io_.poll();
  }
  void own_all() {
    keeper_->start(io_.get_executor());
    for (int second = 0; second < 10; ++second) pass(seconds(1));
    ASSERT_EQ(owned(), (std::vector<std::string>{"a", "b", "c"}));
  }
  void stop() {
    asio::co_spawn(io_, keeper_->stop(), [&](const std::exception_ptr&) { stopped_ = true; });
  }
  [[nodiscard]] std::vector<std::string> owned() const {
    std::vector<std::string> out;
    for (const auto& [id, row] : store_.rows) {
      if (!id.starts_with(jobs::kKeeperRow) && !row.worker.empty()) out.push_back(id);
    }
    return out;
  }

  asio::io_context io_;
  FakeClock clock_;
  HeldStore store_{clock_};
  std::shared_ptr<Keeper<HeldKind>> keeper_ =
      Keeper<HeldKind>::create(KeeperOptions{.worker = "one"}, {clock_, store_});
  bool stopped_ = false;
};

TEST_F(WorkersKeeper, GivesBackAllThatItOwnsWhileAPassGoesOn) {
  own_all();
  store_.holds = {"changes"};
  pass(seconds(1));
  store_.holds.insert("swap_owner");
  stop();
  // The keeper does not wait for a pass that hears nothing from the store.
  for (int second = 0; second < 6; ++second) pass(seconds(1));
  // The pass goes on and forgets all owners, which have ended, while the first of them is given back.
  store_.let_go("changes");
  pass(seconds(1));
  EXPECT_EQ(keeper_->owned(), 0U);
  store_.let_go("swap_owner");
  pass(seconds(1));
  EXPECT_TRUE(stopped_);
  EXPECT_EQ(owned(), std::vector<std::string>{});
}

TEST_F(WorkersKeeper, GivesBackWhatThePassThatItWaitedForHasForgotten) {
  own_all();
  store_.holds = {"changes"};
  pass(seconds(1));
  stop();
  pass(seconds(1));
  EXPECT_FALSE(stopped_);
  store_.let_go("changes");
  pass(seconds(1));
  EXPECT_EQ(keeper_->owned(), 0U);
  EXPECT_TRUE(stopped_);
  EXPECT_EQ(owned(), std::vector<std::string>{});
}

TEST_F(WorkersKeeper, GivesBackWhatAPassHasClaimedAndNotYetStarted) {
  store_.holds_after_claims = {"all"};
  keeper_->start(io_.get_executor());
  for (int second = 0; second < 10; ++second) pass(seconds(1));
  ASSERT_NE(owned(), std::vector<std::string>{});
  stop();
  pass(seconds(1));
  store_.let_go("all");
  pass(seconds(1));
  EXPECT_TRUE(stopped_);
  EXPECT_EQ(keeper_->owned(), 0U);
  EXPECT_EQ(owned(), std::vector<std::string>{});
}

}  // namespace
}  // namespace tidemark::workers
