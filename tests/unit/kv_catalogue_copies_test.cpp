// Copies of catalogue rows: the shards' knowledge of a row while it changes, is dropped and is made again, and changes
// that a process began and did not finish.
#include "common/shards/catalogue_copies.h"

#include <gmock/gmock.h>

#include <boost/asio/io_context.hpp>

#include "common/kv/key_codec.h"
#include "tests/support/damage.h"
#include "tests/support/memory_engine.h"
#include "tests/support/refusing_engine.h"
#include "tests/support/standing_clock.h"
#include "tests/support/task_runner.h"
#include "tests/support/test_owners.h"

namespace tidemark::kv {
namespace {

using std::chrono::seconds;

/// Rows "r" name -> version text of a catalogue; the last action on each shard is its row "did".
class TestRows final : public shards::CatalogueCopies::Rows {
 public:
  Result<std::optional<shards::CatalogueCopies::Copy>> read(const Reader& catalogue, std::string_view,
                                                            std::string_view name) const override {
    auto bytes = TRY(catalogue.get("r" + std::string(name)));
    if (!bytes) return std::optional<shards::CatalogueCopies::Copy>();
    return shards::CatalogueCopies::Copy{std::stoull(*bytes), "value " + *bytes};
  }
  Result<void> change_shard(Transaction& txn, std::size_t shard, const std::string&, const std::string&,
                            const shards::CatalogueCopies::Change& change) const override {
    if (shard == failing_shard) return fail(ErrorCode::kStorageFailure);
    txn.put("did", change.what);
    return {};
  }
  Result<void> change_row(Transaction& txn, const std::string&, const std::string& name,
                          const shards::CatalogueCopies::Change& change) const override {
    if (change.payload) {
      txn.put("r" + name, std::to_string(change.version));
    } else {
      txn.erase("r" + name);
    }
    return {};
  }
  void changed_on_request(std::size_t shard, const Executor&) const override { ++requested[shard]; }
  std::shared_ptr<void> hold(std::size_t shard, const std::string&, const std::string&) const override {
    ++held[shard];
    return {nullptr, [this, shard](void*) { --held[shard]; }};
  }

  std::size_t failing_shard = ~std::size_t{0};
  mutable std::map<std::size_t, int> held, requested;
};

class CatalogueCopiesTest : public testing::TestWithParam<std::size_t>, protected TaskRunner {
 protected:
  static shards::Shards shards_of(std::vector<RefusingEngine>& engines, const Clock& clock) {
    shards::Shards shards{{}, shards::Placement(engines.size(), {})};
    for (auto& engine : engines) shards.all.push_back({engine, clock});
    return shards;
  }
  [[nodiscard]] std::size_t shards() const { return engines_.size(); }

  void create(std::uint64_t version) { put_row(engines_[0], "rname", std::to_string(version)); }
  Result<bool> change(std::uint64_t version, std::optional<std::string> payload, const std::string& what = "what") {
    return run_task(
        copies_.change("acct", "name", [&](Transaction&) -> Result<std::optional<shards::CatalogueCopies::Change>> {
          return shards::CatalogueCopies::Change{version, payload, what};
        }));
  }
  std::optional<std::string> seen(std::size_t shard) {
    const auto rows = engines_[shard].snapshot();
    if (shard == 0) {
      const auto row = rows_.read(*rows, "acct", "name");
      return *row ? std::optional((*row)->payload) : std::nullopt;
    }
    const auto copy = copies_.find(*rows, "acct", "name");
    EXPECT_TRUE(copy);
    return *copy ? std::optional((*copy)->payload) : std::nullopt;
  }
  std::string did(std::size_t shard) { return engines_[shard].get("did")->value_or(""); }
  bool bring(std::size_t shard) {
    const auto brought = run(copies_.bring(shard, "acct", "name"));
    EXPECT_TRUE(brought);
    return brought && *brought;
  }
  void bring_all() {
    for (std::size_t shard = 1; shard < shards(); ++shard) EXPECT_TRUE(bring(shard));
  }
  std::size_t marks() { return keys_under(engines_[0], "c").size(); }
  std::vector<std::string> check() {
    CheckRun told_here;
    std::vector<std::shared_ptr<const Reader>> rows;
    for (auto& engine : engines_) rows.push_back(engine.snapshot());
    EXPECT_TRUE(shards::CatalogueCopies::check({*rows[0], rows, *rows[0]}, 'c', rows_, told_here));
    return told(told_here.report());
  }

  using Texts = std::vector<std::string>;
  StandingClock clock_;
  std::vector<RefusingEngine> engines_ = std::vector<RefusingEngine>(GetParam());
  const shards::Shards shards_ = shards_of(engines_, clock_);
  TestRows rows_;
  shards::CatalogueCopies copies_{shards_, clock_, 'c', rows_};
};

INSTANTIATE_TEST_SUITE_P(Shards, CatalogueCopiesTest, testing::Values(1, 2, 5));

TEST_P(CatalogueCopiesTest, AreBroughtOnceAShardNeedsThem) {
  for (std::size_t shard = 1; shard < shards(); ++shard) EXPECT_FALSE(bring(shard)) << "there is no such row";
  create(7);
  for (std::size_t shard = 1; shard < shards(); ++shard) EXPECT_EQ(seen(shard), std::nullopt);
  bring_all();
  bring_all();
  for (std::size_t shard = 0; shard < shards(); ++shard) EXPECT_EQ(seen(shard), "value 7");
  EXPECT_EQ(check(), Texts{});
}

TEST_P(CatalogueCopiesTest, AChangeReachesEveryShard) {
  create(7);
  bring_all();
  EXPECT_TRUE(*change(9, "value 9", "followed"));
  for (std::size_t shard = 0; shard < shards(); ++shard) {
    EXPECT_EQ(seen(shard), "value 9");
    EXPECT_EQ(did(shard), "followed");
    EXPECT_EQ(rows_.held[shard], 0);
  }
  bring_all();
  EXPECT_EQ(check(), Texts{});
  EXPECT_TRUE(*change(12, std::nullopt, "dropped"));
  for (std::size_t shard = 0; shard < shards(); ++shard) {
    EXPECT_EQ(seen(shard), std::nullopt);
    EXPECT_EQ(did(shard), "dropped");
  }
  EXPECT_EQ(marks(), 0U) << "nothing is left of a row that is gone";
  create(13);
  bring_all();
  for (std::size_t shard = 0; shard < shards(); ++shard) EXPECT_EQ(seen(shard), "value 13");
}

TEST_P(CatalogueCopiesTest, NothingChangesIfNothingIsToBeDone) {
  create(7);
  bring_all();
  const auto nothing = [](Transaction& txn) -> Result<std::optional<shards::CatalogueCopies::Change>> {
    txn.put("note", "stands");
    return std::optional<shards::CatalogueCopies::Change>();
  };
  EXPECT_FALSE(*run(copies_.change("acct", "name", nothing)));
  EXPECT_EQ(**engines_[0].get("note"), "stands");
  const auto refused = [](Transaction&) -> Result<std::optional<shards::CatalogueCopies::Change>> {
    return fail(ErrorCode::kConditionNotMet);
  };
  EXPECT_TRUE(run(copies_.change("acct", "name", refused)).failed_with(ErrorCode::kConditionNotMet));
  for (std::size_t shard = 0; shard < shards(); ++shard) EXPECT_EQ(seen(shard), "value 7");
}

/// Tests that hold for several shards only.
using DividedCatalogue = CatalogueCopiesTest;
INSTANTIATE_TEST_SUITE_P(Shards, DividedCatalogue, testing::Values(2, 5));

/// As if the process had died after any of its steps: the shards so far have changed, the others and the row have not.
TEST_P(DividedCatalogue, ADropThatWasCutOffIsFinishedAtTheNextStart) {
  for (std::size_t reached = 1; reached < shards(); ++reached) {
    create(reached * 10);
    bring_all();
    engines_[reached].refusing = true;
    EXPECT_FALSE(change(reached * 10 + 1, std::nullopt, "drop " + std::to_string(reached)));
    engines_[reached].refusing = false;
    EXPECT_EQ(seen(reached), "value " + std::to_string(reached * 10)) << "it comes before the drop";
    EXPECT_EQ(marks(), 1U);
    EXPECT_NE(seen(0), std::nullopt) << "the name is not free before all shards have it";

    shards::CatalogueCopies restarted(shards_, clock_, 'c', rows_);
    EXPECT_TRUE(run(restarted.finish_all()));
    for (std::size_t shard = 0; shard < shards(); ++shard) {
      EXPECT_EQ(seen(shard), std::nullopt);
      EXPECT_EQ(did(shard), "drop " + std::to_string(reached));
    }
    EXPECT_EQ(marks(), 0U);
  }
}

TEST_P(DividedCatalogue, ADropWhoseLastStepFailedIsFinished) {
  create(7);
  bring_all();
  rows_.failing_shard = 0;
  EXPECT_TRUE(change(8, std::nullopt).failed_with(ErrorCode::kStorageFailure));
  rows_.failing_shard = ~std::size_t{0};
  EXPECT_TRUE((*copies_.under_way(*engines_[0].snapshot(), "acct", "name")).has_value());
  for (std::size_t shard = 1; shard < shards(); ++shard) EXPECT_FALSE(bring(shard)) << "it is being dropped";
  EXPECT_TRUE(run(copies_.finish_all()));
  EXPECT_EQ(seen(0), std::nullopt);
  EXPECT_FALSE((*copies_.under_way(*engines_[0].snapshot(), "acct", "name")).has_value());
}

TEST_P(DividedCatalogue, WhoeverFindsAChangeOfMoreThanASecondFinishesIt) {
  create(7);
  bring_all();
  engines_[1].refusing = true;
  EXPECT_FALSE(change(8, std::nullopt));
  engines_[1].refusing = false;
  EXPECT_TRUE(run(copies_.finish_old("acct", "name")));
  EXPECT_EQ(marks(), 1U) << "whoever began it may still be at it";
  clock_.time += seconds(2);
  EXPECT_FALSE(bring(1)) << "to bring a copy finds it too";
  EXPECT_EQ(marks(), 0U);
  EXPECT_EQ(seen(0), std::nullopt);
}

TEST_P(DividedCatalogue, AnotherChangeFinishesTheOneBefore) {
  create(7);
  engines_[1].refusing = true;
  EXPECT_FALSE(change(8, "value 8", "first"));
  engines_[1].refusing = false;
  EXPECT_TRUE(*change(9, std::nullopt, "second"));
  for (std::size_t shard = 0; shard < shards(); ++shard) {
    EXPECT_EQ(seen(shard), std::nullopt);
    EXPECT_EQ(did(shard), "second");
  }
}

TEST_P(DividedCatalogue, ACopyThatIsBroughtDuringAChangeIsTheNewOne) {
  create(7);
  engines_[1].refusing = true;
  EXPECT_FALSE(change(8, "value 8", "followed"));
  engines_[1].refusing = false;
  EXPECT_EQ(seen(1), std::nullopt);
  EXPECT_TRUE(bring(1));
  EXPECT_EQ(seen(1), "value 8");
  EXPECT_EQ(did(1), "followed") << "with what the change does on each shard";
}

/// The copy was read from the catalogue, and the row is dropped before the copy is put.
TEST_P(DividedCatalogue, ACopyThatIsOvertakenByADropIsNotPut) {
  create(7);
  engines_[1].before_next = [&] { EXPECT_TRUE(*change(8, std::nullopt)); };
  EXPECT_FALSE(bring(1));
  EXPECT_EQ(seen(1), std::nullopt);
  create(20);
  engines_[1].before_next = [&] {
    EXPECT_TRUE(*change(21, std::nullopt));
    create(22);
  };
  EXPECT_TRUE(bring(1));
  EXPECT_EQ(seen(1), "value 22");
}

TEST_P(DividedCatalogue, TheCheckTellsCopiesOfWhatIsNotThere) {
  create(7);
  bring_all();
  put_row(engines_[0], "rname", "8");
  EXPECT_EQ(check(), Texts{"reference: is a copy of what the catalogue does not say"});
  erase_row(engines_[0], "rname");
  EXPECT_EQ(check(), Texts{"reference: is a copy of what the catalogue does not say"});
  put_row(engines_[1], keys_under(engines_[1], "c").front(), kGarbage);
  erase_row(engines_[0], "rname");
  EXPECT_THAT(check(), testing::Contains("record: the copy of a row of the catalogue cannot be read"));
}

/// Two processes that share five shards: the first has the catalogue and two more.
class SharedCatalogue : public testing::Test, protected TaskRunner {
 protected:
  static constexpr std::size_t kShards = 5;
  using Change = shards::CatalogueCopies::Change;

  struct Process {
    explicit Process(SharedCatalogue& test) : owners(test.places_) {
      for (auto& engine : test.engines_) shards.all.push_back({engine, test.clock_});
      shards.peers = &owners;
      copies.emplace(shards, test.clock_, 'c', test.rows_);
      owners.dispatch = rpc::make_dispatch(*this, kHandlers);
    }
    TestOwners owners;
    shards::Shards shards{{}, shards::Placement(kShards, {})};
    [[nodiscard]] const shards::CatalogueCopies& catalogue_copies() const { return *copies; }
    std::optional<shards::CatalogueCopies> copies;

    using Face = rpc::Face<Process>;
    static constexpr Face::Handler kHandlers[] = {
        Face::on<shards::calls::FollowMark, &shards::follow_mark<Process>>(),
        Face::on<shards::calls::FinishChange, &shards::finish_change<Process>>()};
  };

  Process& at(std::size_t shard) { return places_[shard] == &one_.owners ? one_ : two_; }
  void give(std::size_t shard, Process& to) {
    auto& from = at(shard);
    places_[shard] = &to.owners;
    if (&from != &to) from.copies->lost(shard);
  }
  void create(std::uint64_t version) { put_row(engines_[0], "rname", std::to_string(version)); }
  Result<bool> drop(std::uint64_t version) {
    const auto begin = [version](Transaction&) -> Result<std::optional<Change>> {
      return Change{version, std::nullopt, "dropped"};
    };
    return run_task(at(0).copies->change("acct", "name", begin));
  }
  bool bring(std::size_t shard) { return run(at(shard).copies->bring(shard, "acct", "name")).value(); }
  void bring_all() {
    for (std::size_t shard = 1; shard < kShards; ++shard) EXPECT_TRUE(bring(shard));
  }
  std::optional<std::string> seen(std::size_t shard) {
    const auto copy = one_.copies->find(*engines_[shard].snapshot(), "acct", "name");
    return *copy ? std::optional((*copy)->payload) : std::nullopt;
  }
  bool has_row() { return engines_[0].get("rname")->has_value(); }
  std::size_t marks() { return keys_under(engines_[0], "c").size(); }

  StandingClock clock_;
  std::vector<RefusingEngine> engines_ = std::vector<RefusingEngine>(kShards);
  TestRows rows_;
  TestOwners::Places places_ = TestOwners::Places(kShards);
  Process one_{*this}, two_{*this};

  void SetUp() override { places_ = {&one_.owners, &one_.owners, &one_.owners, &two_.owners, &two_.owners}; }
};

TEST_F(SharedCatalogue, AChangeReachesTheShardsOfTheOther) {
  create(7);
  bring_all();
  for (std::size_t shard = 1; shard < kShards; ++shard) EXPECT_EQ(seen(shard), "value 7");
  EXPECT_TRUE(*drop(8));
  for (std::size_t shard = 1; shard < kShards; ++shard) {
    EXPECT_EQ(seen(shard), std::nullopt);
    EXPECT_EQ(**engines_[shard].get("did"), "dropped");
    EXPECT_EQ(rows_.requested[shard], 1);
    EXPECT_EQ(rows_.held[shard], 0);
  }
  EXPECT_EQ(one_.owners.passed_on, 2U);
  EXPECT_EQ(marks(), 0U);
  EXPECT_FALSE(has_row());
}

TEST_F(SharedCatalogue, WhatAnOwnerDidNotTakeIsFinishedLater) {
  create(7);
  bring_all();
  places_[4] = nullptr;
  EXPECT_TRUE(drop(8).failed_with(ErrorCode::kServerBusy));
  EXPECT_TRUE(has_row());
  EXPECT_EQ(seen(4), "value 7");
  places_[4] = &two_.owners;
  clock_.time += seconds(2);
  EXPECT_FALSE(bring(3)) << "whoever has a shard and finds it asks the one that has the catalogue";
  EXPECT_EQ(marks(), 0U);
  EXPECT_EQ(seen(4), std::nullopt);
  EXPECT_FALSE(has_row());
}

TEST_F(SharedCatalogue, ADropIsFinishedByTheNextOwnerOfTheCatalogue) {
  create(7);
  bring_all();
  places_[4] = nullptr;
  EXPECT_FALSE(drop(8));
  for (const std::size_t shard : {0U, 1U, 2U, 4U}) give(shard, two_);
  EXPECT_TRUE(run(two_.copies->finish_all()));
  EXPECT_EQ(marks(), 0U);
  for (std::size_t shard = 1; shard < kShards; ++shard) EXPECT_EQ(seen(shard), std::nullopt);
}

/// The former owner of the catalogue stood still in the middle of a drop, which another owner finished; then the table
/// was made again, and the former owner goes on.
TEST_F(SharedCatalogue, ADropThatGoesOnAfterItWasFinishedChangesNothing) {
  create(7);
  bring_all();
  one_.owners.before_next = [&] {
    give(0, two_);
    EXPECT_TRUE(run_task(two_.copies->finish_all()));
    create(20);
    for (const std::size_t shard : {3U, 4U}) EXPECT_TRUE(run_task(two_.copies->bring(shard, "acct", "name")).value());
  };
  const auto begin = [](Transaction&) -> Result<std::optional<Change>> { return Change{8, std::nullopt, "dropped"}; };
  EXPECT_TRUE(run(one_.copies->change("acct", "name", begin)));
  EXPECT_TRUE(has_row());
  for (const std::size_t shard : {3U, 4U}) EXPECT_EQ(seen(shard), "value 20");
  EXPECT_EQ(marks(), 0U);
}

/// Its copy of the catalogue is older than the changes that another owner of the shard has made meanwhile.
TEST_F(SharedCatalogue, ACopyThatWasReadBeforeTheShardMovedIsNotPut) {
  create(7);
  engines_[3].before_next = [&] {
    give(3, one_);
    EXPECT_TRUE(*drop(8));
    give(3, two_);
  };
  EXPECT_FALSE(bring(3));
  EXPECT_EQ(seen(3), std::nullopt);
}

}  // namespace
}  // namespace tidemark::kv
