// Two processes that share the shards of the blobs and the folder of their files: each takes any request, and what one
// of them writes or reads for a shard of the other one is registered and kept there.
#include "blob_store/internal/blob_dispatch.h"
#include "blob_store/storage/served_calls.h"
#include "tests/support/blob_service_fixture.h"
#include "tests/support/fake_clock.h"

namespace tidemark::blob_store {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kShards = 2;
constexpr std::size_t kLarge = 600'000;  // a file of three chunks

/// A shard as one process sees it: all of them read, and the one that serves it writes.
class SeenShard final : public kv::Engine {
 public:
  SeenShard(kv::Engine& engine, const bool& serves) : engine_(engine), serves_(serves) {}
  [[nodiscard]] std::shared_ptr<const kv::Reader> snapshot() const override { return engine_.snapshot(); }
  void submit(kv::TransactionBody body, kv::Completion done) override {
    if (!serves_) return done(fail(ErrorCode::kServerBusy));
    engine_.submit(std::move(body), std::move(done));
  }
  void erase_ranges(std::vector<kv::KeyRange> ranges, kv::Completion done) override {
    engine_.erase_ranges(std::move(ranges), std::move(done));
  }
  [[nodiscard]] std::size_t queue_depth() const override { return 0; }

 private:
  kv::Engine& engine_;
  const bool& serves_;
};

class Process final : public shards::Peers {
 public:
  Process(std::string name, const std::vector<std::unique_ptr<kv::Engine>>& engines, Clock& clock, Random& random,
          const PayloadFiles& files, Executor executor)
      : name_(std::move(name)) {
    shards::Shards shards{
        .all = {}, .placement = shards::Placement(kShards, shards::Placement::Key{1, 2, 3}), .peers = this};
    for (std::size_t shard = 0; shard < kShards; ++shard) {
      seen_.push_back(std::make_unique<SeenShard>(*engines[shard], serves_[shard]));
      shards.all.push_back({*seen_.back(), clock});
    }
    service.emplace(shards, clock, random, files, std::move(executor));
    service->start_sharing("payloads");
  }

  [[nodiscard]] bool here(std::size_t shard) const override { return serves_[shard]; }
  [[nodiscard]] bool leased(std::size_t shard) const override { return here(shard); }
  [[nodiscard]] const std::string& process() const override { return name_; }
  [[nodiscard]] bool lives(const std::string& process) const override { return process == name_ || other_lives; }
  Task<Result<std::optional<std::string>>> forward(shards::CallPlace place, std::string method,
                                                   std::string payload) override {
    if (serves_[place.shard]) co_return std::optional<std::string>();
    asked.push_back(method);
    if (!other->serves_[place.shard]) co_return fail(ErrorCode::kServerBusy);
    co_return std::optional(CO_TRY(co_await make_blob_dispatch(*other->service)(method, std::move(payload))));
  }
  Task<void> tell_others(std::string, std::string) override { co_return; }

  void gain(std::size_t shard) {
    serves_[shard] = true;
    service->gained(shard);
  }
  void lose(std::size_t shard) {
    serves_[shard] = false;
    service->lost(shard);
  }

  std::optional<BlobService> service;
  Process* other = nullptr;
  bool other_lives = true;
  std::vector<std::string> asked;  // the methods of the calls that were passed on

 private:
  const std::string name_;
  std::array<bool, kShards> serves_{};
  std::vector<std::unique_ptr<SeenShard>> seen_;
};

/// The first shard is the home's, and the second the neighbour's.
class BlobOwners : public testing::Test {
 protected:
  void SetUp() override {
    home_.other = &neighbour_;
    neighbour_.other = &home_;
    home_.gain(0);
    neighbour_.gain(1);
    settle();
    ASSERT_TRUE(ask(neighbour_, calls::CreateContainer{{"acc", "box"}, {}, {}})) << "from the wrong process";
  }
  void TearDown() override {
    home_.service->begin_shutdown();
    neighbour_.service->begin_shutdown();
    advance(1min);
  }

  void settle() {
    io_.restart();
    io_.poll();
  }
  /// In steps, so that timers that timers set are due as well.
  void advance(Duration by) {
    for (; by > Duration::zero(); by -= 1s) {
      clock_.advance(1s);
      settle();
    }
  }
  template <class T>
  T run(Task<T> task) {
    std::optional<T> out;
    asio::co_spawn(io_, std::move(task), [&out](const std::exception_ptr& thrown, T value) {
      EXPECT_FALSE(thrown);
      out.emplace(std::move(value));
    });
    settle();
    EXPECT_TRUE(out) << "the operation did not end";
    return std::move(*out);
  }
  template <class Call>
  Result<typename Call::Reply> ask(Process& process, Call call) {
    return run(process.service->call(std::move(call)));
  }

  /// Returns a blob of a shard.
  [[nodiscard]] BlobRef on(std::size_t shard, int which = 0) const {
    for (int i = 0;; ++i) {
      BlobRef ref{"acc", "box", "blob-" + std::to_string(i)};
      if (home_.service->shard_of(ref) == shard && which-- == 0) return ref;
    }
  }
  Result<WrittenPayload> upload(Process& process, const BlobRef& ref, const std::string& content) {
    auto writer = process.service->new_payload(ref);
    for (std::size_t at = 0; at < content.size(); at += 100'000) {
      auto done = run(writer.append(content.substr(at, 100'000)));
      if (!done) return fail(done.error());
    }
    return run(writer.finish());
  }
  Result<Stamp> put(Process& process, const BlobRef& ref, const std::string& content) {
    return ask(process, calls::PutBlob{ref, {}, TRY(upload(process, ref, content)), {}});
  }
  Result<OpenedBlob> open(Process& process, const BlobRef& ref) { return run(process.service->open_anywhere(ref, {})); }
  static Result<std::string> drain(ContentReader reader) {
    std::string out;
    for (auto piece = TRY(reader.next()); !piece.empty(); piece = TRY(reader.next())) out += piece;
    return out;
  }
  Result<std::string> read(Process& process, const BlobRef& ref) {
    const auto opened = TRY(open(process, ref));
    return drain(opened.read(0, opened.blob.size));
  }
  std::string content(std::size_t size) { return random_bytes(*random_, size); }
  [[nodiscard]] bool has_rows(char kind) const {
    return std::ranges::any_of(engines_, [&](const auto& engine) {
      const auto rows = engine->snapshot();
      return rows->scan(blob_keys::all(kind))->valid();
    });
  }

  asio::io_context io_;
  FakeClock clock_;
  std::unique_ptr<Random> random_ = make_seeded_random(7);
  TemporaryPayloads files_{io_.get_executor()};
  std::vector<std::unique_ptr<kv::Engine>> engines_ = kv::make_memory_engines(kShards);
  Process home_{"home", engines_, clock_, *random_, files_, io_.get_executor()};
  Process neighbour_{"neighbour", engines_, clock_, *random_, files_, io_.get_executor()};
};

TEST_F(BlobOwners, AnyProcessWritesAndReadsAnyBlob) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{2000}, kLarge}) {
    for (const auto& ref : {on(0), on(1)}) {
      for (auto* writer : {&home_, &neighbour_}) {
        const auto bytes = content(size);
        ASSERT_TRUE(put(*writer, ref, bytes)) << size;
        EXPECT_EQ(read(home_, ref), bytes);
        EXPECT_EQ(read(neighbour_, ref), bytes);
      }
    }
  }
  advance(5s);
  EXPECT_EQ(files_.paths().size(), 2U) << "one for each large blob that is left";
}

TEST_F(BlobOwners, AReadOfSmallContentAsksNobody) {
  ASSERT_TRUE(put(home_, on(1), content(2000)));
  home_.asked.clear();
  EXPECT_TRUE(read(home_, on(1)));
  EXPECT_TRUE(home_.service->get_blob(on(1), {}));
  EXPECT_TRUE(home_.asked.empty());
}

TEST_F(BlobOwners, WhatIsReadElsewhereStaysUntilItHasBeenRead) {
  const auto bytes = content(kLarge);
  ASSERT_TRUE(put(neighbour_, on(1), bytes));
  auto opened = open(home_, on(1));
  ASSERT_TRUE(opened);
  ASSERT_TRUE(put(neighbour_, on(1), "short"));
  advance(10s);
  EXPECT_EQ(drain(opened->read(0, kLarge)), bytes);
  EXPECT_EQ(files_.paths().size(), 1U);
  opened = fail(ErrorCode::kBlobNotFound);
  advance(2s);
  EXPECT_TRUE(files_.paths().empty());
  EXPECT_EQ(read(home_, on(1)), "short");
}

TEST_F(BlobOwners, TheReadersOfAProcessThatHasDiedKeepNothing) {
  ASSERT_TRUE(put(neighbour_, on(1), content(kLarge)));
  const auto opened = open(home_, on(1));
  ASSERT_TRUE(opened);
  ASSERT_TRUE(put(neighbour_, on(1), "short"));
  advance(10s);
  EXPECT_EQ(files_.paths().size(), 1U);
  neighbour_.other_lives = false;
  advance(2s);
  EXPECT_TRUE(files_.paths().empty());
  EXPECT_TRUE(drain(opened->read(0, kLarge)).failed_with(ErrorCode::kStorageFailure)) << "never other bytes";
}

TEST_F(BlobOwners, ACopyKeepsASourceThatIsElsewhere) {
  const auto bytes = content(kLarge);
  ASSERT_TRUE(put(neighbour_, on(1), bytes));
  CopyRequest request;
  request.source = on(1);
  ASSERT_TRUE(ask(neighbour_, calls::CopyBlob{request, on(0), {}}));
  EXPECT_EQ(std::ranges::count(home_.asked, calls::KeepContent::kMethod), 1);
  EXPECT_EQ(read(neighbour_, on(0)), bytes);
  advance(2s);
  EXPECT_EQ(std::ranges::count(home_.asked, calls::LetGo::kMethod), 1);
}

TEST_F(BlobOwners, AnUploadThatFailsElsewhereLeavesNothing) {
  const auto payload = upload(home_, on(1), content(kLarge));
  ASSERT_TRUE(payload);
  EXPECT_TRUE(has_rows('Q'));
  Conditions unmet;
  unmet.if_match = {"0x1"};
  EXPECT_TRUE(ask(home_, calls::PutBlob{on(1), {}, *payload, unmet}).failed_with(ErrorCode::kConditionNotMet));
  home_.service->abandon(payload->id);
  advance(2s);
  EXPECT_TRUE(files_.paths().empty());
  EXPECT_FALSE(has_rows('Q'));
  EXPECT_FALSE(has_rows(blob_keys::kDead));
}

TEST_F(BlobOwners, AnUploadThatIsAbandonedWhileNobodyServesItsShardIsForgottenLater) {
  const auto payload = upload(home_, on(1), content(kLarge));
  neighbour_.lose(1);
  home_.service->abandon(payload->id);
  advance(30s);
  EXPECT_EQ(files_.paths().size(), 1U);
  neighbour_.gain(1);
  advance(2min);
  EXPECT_TRUE(files_.paths().empty());
}

TEST_F(BlobOwners, AnUploadThatIsAbandonedAsItsShardComesHereIsForgotten) {
  const auto payload = upload(home_, on(1), content(kLarge));
  neighbour_.lose(1);
  home_.service->abandon(payload->id);
  settle();
  home_.gain(1);
  advance(2s);
  EXPECT_TRUE(files_.paths().empty());
}

TEST_F(BlobOwners, TheUploadsOfAProcessThatHasDiedAreGivenUp) {
  const auto payload = upload(home_, on(1), content(kLarge));
  advance(10s);
  EXPECT_EQ(files_.paths().size(), 1U) << "it lives";
  neighbour_.other_lives = false;
  advance(2s);
  EXPECT_TRUE(files_.paths().empty());
  EXPECT_FALSE(has_rows('Q'));
  // It was only taken for dead.
  neighbour_.other_lives = true;
  EXPECT_TRUE(ask(home_, calls::PutBlob{on(1), {}, *payload, {}}).failed_with(ErrorCode::kServerBusy));
}

TEST_F(BlobOwners, AFileThatIsMadeByAProcessThatWasTakenForDeadIsRemovedByItsMaker) {
  auto writer = home_.service->new_payload(on(1));
  ASSERT_TRUE(run(writer.append(content(kLarge))));
  advance(5s);
  neighbour_.other_lives = false;
  advance(2s);
  EXPECT_TRUE(files_.paths().empty());
  const PayloadFiles& files = files_;
  auto late = files.begin(writer.id());
  ASSERT_TRUE(run(late.append("late")));
  ASSERT_TRUE(run(late.finish()));
  neighbour_.other_lives = true;
  home_.service->abandon(writer.id());
  advance(2s);
  EXPECT_TRUE(files_.paths().empty());
}

TEST_F(BlobOwners, AProcessGivesUpOnlyPayloadsOfTheShardThatItNames) {
  const auto payload = upload(home_, on(0), content(kLarge));
  EXPECT_TRUE(ask(home_, calls::AbandonPayloads{1, {payload->id}}).failed_with(ErrorCode::kInvalidInput));
  EXPECT_TRUE(ask(home_, calls::AbandonPayloads{kShards, {payload->id}}).failed_with(ErrorCode::kInvalidInput));
  advance(2s);
  EXPECT_EQ(files_.paths().size(), 1U);
}

TEST_F(BlobOwners, CallsArriveAsTheyWereMade) {
  const auto& ref = on(1);
  NewContent content;
  content.headers.type = "text/plain";
  content.metadata = {{"a", "1"}};
  content.tags = {{"k", "v"}};
  ASSERT_TRUE(ask(home_, calls::PutBlob{ref, content, {0, 4, "text"}, {}}));
  Conditions conditions;
  conditions.if_tags = *TagCondition::parse("k = 'other'");
  EXPECT_TRUE(ask(home_, calls::SetMetadata{ref, {}, conditions}).failed_with(ErrorCode::kConditionNotMet));
  conditions.if_tags = *TagCondition::parse("k = 'v' and k <> 'w'");
  EXPECT_TRUE(ask(home_, calls::SetMetadata{ref, {{"b", "2"}}, conditions}));
  const auto snapshot = ask(home_, calls::SnapshotBlob{ref, {}, {}});
  ASSERT_TRUE(snapshot);
  EXPECT_TRUE(ask(home_, calls::DeleteBlob{ref, DeleteSnapshots::kNone, {}}).failed_with(ErrorCode::kSnapshotsPresent));
  LeaseRequest lease;
  lease.proposed = "b1b1b1b1-0000-0000-0000-000000000000";
  const auto taken = ask(home_, calls::LeaseBlob{ref, lease, {}});
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->lease.id, lease.proposed);
  EXPECT_TRUE(
      ask(home_, calls::DeleteBlob{ref, DeleteSnapshots::kInclude, {}}).failed_with(ErrorCode::kLeaseIdMissing));
  const auto blob = home_.service->get_blob(ref, {});
  ASSERT_TRUE(blob);
  EXPECT_EQ(blob->headers.type, "text/plain");
  EXPECT_EQ(blob->metadata, (Metadata{{"b", "2"}}));
}

}  // namespace
}  // namespace tidemark::blob_store
