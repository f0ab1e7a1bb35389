// Large content when another owner claims its shard: a pending payload is never published, a published one is never
// given up, and no file is left that a former owner made late.
#include "tests/support/blob_service_fixture.h"
#include "tests/support/refusing_engine.h"
#include "tests/support/standing_clock.h"

namespace tidemark::blob_store {
namespace {

class BlobClaims : public BlobServiceTest {
 protected:
  explicit BlobClaims(Engines engines = kv::make_memory_engines(1)) : BlobServiceTest(7, std::move(engines)) {}
  /// Claims the shard, like another process that takes it over, or this one when it comes back.
  void claim() {
    service_.gained(0);
    run_background();
  }
  void make_file(PayloadId id) {
    const PayloadFiles& files = files_;
    auto writing = files.begin(id);
    ASSERT_TRUE(run(writing.append("late")));
    ASSERT_TRUE(run(writing.finish()));
  }
};

TEST_F(BlobClaims, WhatWasPendingIsNeverPublished) {
  const auto payload = upload(content(600'000));
  claim();
  EXPECT_TRUE(run(service_.put_blob(ref("b"), {}, payload, {})).failed_with(ErrorCode::kServerBusy));
  abandon(payload.id);
  EXPECT_TRUE(read("b").failed_with(ErrorCode::kBlobNotFound));
  EXPECT_TRUE(files_.paths().empty());
  EXPECT_EQ(checked().found, 0U);
}

TEST_F(BlobClaims, WhatWasPublishedIsNotAbandonedByWhoeverWasNotTold) {
  const auto bytes = content(600'000);
  const auto payload = upload(bytes);
  ASSERT_TRUE(run(service_.put_blob(ref("b"), {}, payload, {})));
  abandon(payload.id);
  claim();
  collect();
  EXPECT_EQ(*read("b"), bytes);
  EXPECT_EQ(checked().found, 0U);
}

TEST_F(BlobClaims, AFileThatIsMadeLateIsRemovedByWhoeverMadeIt) {
  const auto payload = upload(content(600'000));
  claim();
  make_file(payload.id);
  abandon(payload.id);
  EXPECT_TRUE(files_.paths().empty());
}

TEST_F(BlobClaims, AFileThatIsMadeLateIsRemovedOnceNoUploadGoesOn) {
  const auto payload = upload(content(600'000));
  claim();
  make_file(payload.id);
  StandingClock ages(clock_->now() + kLongestUpload - std::chrono::minutes(1));
  Readers readers(*clock_);
  Collector collector(*engine_, files_, readers, *clock_, ages, io_.get_executor());
  ASSERT_TRUE(run(collector.collect()));
  EXPECT_EQ(files_.paths().size(), 1U);
  EXPECT_EQ(checked().found, 0U) << "it is known";
  ages.time += std::chrono::hours(2);
  ASSERT_TRUE(run(collector.collect()));
  EXPECT_TRUE(files_.paths().empty());
  EXPECT_TRUE(keys_of('W').empty());
}

TEST_F(BlobClaims, NothingIsCollectedWhereTheShardIsNot) {
  put("b", content(600'000));
  service_.lost(0);
  ASSERT_TRUE(run(service_.delete_blob(ref("b"), DeleteSnapshots::kNone, {})));
  collect();
  EXPECT_EQ(files_.paths().size(), 1U);
  claim();
  EXPECT_TRUE(files_.paths().empty());
}

/// Calls timer callbacks at once, after telling the test.
class HurryingClock : public StandingClock {
 public:
  std::shared_ptr<Timer> call_after(Duration delay, Executor executor, std::function<void()> call) override {
    delays.push_back(delay);
    at_delay(delays.size());
    asio::post(executor, std::move(call));
    return nullptr;
  }
  std::vector<Duration> delays;
  std::function<void(std::size_t)> at_delay;
};

class BlobCollector : public BlobClaims {
 protected:
  BlobCollector() : BlobClaims(refusing_engines()) {}
  static Engines refusing_engines() {
    Engines engines;
    engines.push_back(std::make_unique<kv::RefusingEngine>());
    return engines;
  }
  void SetUp() override {
    BlobServiceTest::SetUp();
    payload_ = upload(content(600'000)).id;
  }
  kv::RefusingEngine& engine() { return static_cast<kv::RefusingEngine&>(*engine_); }

  /// Buries the pending payload, which the next pass finds dead, and refuses transactions.
  void bury_and_refuse() {
    ASSERT_TRUE(run(engine_->transact([&](kv::Transaction& txn) { return bury_pending(txn, payload_); })));
    engine().refusing = true;
    collector_.kick();
  }

  PayloadId payload_ = 0;
  HurryingClock clock_of_pauses_;
  Readers readers_{*clock_};
  Collector collector_{*engine_, files_, readers_, clock_of_pauses_, *clock_, io_.get_executor()};
};

TEST_F(BlobCollector, APassThatFailsIsMadeAgainUntilOneSucceeds) {
  clock_of_pauses_.at_delay = [&](std::size_t number) { engine().refusing = number < 9; };
  bury_and_refuse();
  run_background();
  EXPECT_TRUE(keys_of(blob_keys::kDead).empty());
  EXPECT_TRUE(files_.paths().empty());
  using std::chrono::seconds;
  const std::vector<Duration> growing{seconds(1),  seconds(2),  seconds(4),  seconds(8), seconds(16),
                                      seconds(32), seconds(60), seconds(60), seconds(60)};
  EXPECT_EQ(clock_of_pauses_.delays, growing);
}

TEST_F(BlobCollector, APassThatFailsIsNotMadeAgainWhereTheShardIsNotAnyMore) {
  clock_of_pauses_.at_delay = [&](std::size_t) { collector_.rest(); };
  bury_and_refuse();
  run_background();
  EXPECT_EQ(clock_of_pauses_.delays.size(), 1U);
  EXPECT_EQ(keys_of(blob_keys::kDead).size(), 1U);
}

TEST_F(BlobCollector, AShardThatComesBackIsNotKeptWaiting) {
  StandingClock no_pause_ends;
  Collector collector(*engine_, files_, readers_, no_pause_ends, *clock_, io_.get_executor());
  const auto run_what_is_ready = [this] {
    io_.restart();
    io_.poll();
  };
  engine().refusing = true;
  collector.abandon(payload_);
  run_what_is_ready();
  EXPECT_EQ(files_.paths().size(), 1U);
  engine().refusing = false;
  collector.start(Collector::Former::kMayWrite);
  run_what_is_ready();
  EXPECT_TRUE(files_.paths().empty());
  collector.stop();
  run_what_is_ready();
}

TEST_F(BlobCollector, HoweverManyAreAbandonedAllAreSettled) {
  for (PayloadId published = payload_ + 1; published < payload_ + 1000; ++published) collector_.abandon(published);
  collector_.abandon(payload_);
  run_background();
  EXPECT_TRUE(files_.paths().empty());
  EXPECT_TRUE(keys_of('Q').empty());
}

TEST_F(BlobCollector, NoPassIsMadeAfterTheStoreStops) {
  clock_of_pauses_.at_delay = [&](std::size_t) { asio::post(io_, [&] { collector_.stop(); }); };
  bury_and_refuse();
  run_background();
  collector_.kick();
  run_background();
  EXPECT_EQ(clock_of_pauses_.delays.size(), 1U);
}

TEST_F(BlobCollector, WhereTheShardIsNotAnyMoreItsOwnerIsToldOfAbandonedPayloads) {
  std::vector<PayloadId> told;
  const auto tell = [&](std::vector<PayloadId> abandoned) -> Task<Result<void>> {
    told = std::move(abandoned);
    co_return Result<void>();
  };
  collector_.tell_owner(tell);
  engine().refusing = true;
  clock_of_pauses_.at_delay = [&](std::size_t) { collector_.rest(); };
  collector_.abandon(payload_);
  run_background();
  EXPECT_EQ(told, std::vector<PayloadId>{payload_});
}

}  // namespace
}  // namespace tidemark::blob_store
