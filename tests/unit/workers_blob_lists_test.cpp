// Lists in blobs: the features that no other index has. workers_indexes_test.cpp tests those that they share with the
// others.
#include "index_rows_fixture.h"
#include "indexes/lookup/lookup.h"
#include "indexes/rows/blob_names.h"
#include "indexes/store/declare.h"

namespace tidemark::workers {
namespace {

constexpr const char* kListedInBlobs =
    R"({"kind":"lists","source":"Source","by":["Colour"],"where":"blobs","container":"lists","prefix":"by-colour/",
        "scrubPerSecond":100000})";

class WorkersBlobLists : public IndexRowsFixture {
 protected:
  void scrub(const Index& index) {
    const auto before = progress(index).scrubs;
    ask(index.name, {.scrub = true});
    drive_until([&] { return progress(index).scrubs > before && caught_up(index); });
  }
  /// Puts a blob as a user with an SDK does: no fence, and no mark of an index.
  void put_foreign(const std::string& name, const std::string& bytes) {
    const auto stored = [&]() -> Task<Result<void>> {
      const blob_store::BlobRef ref{kAccount, "lists", name};
      auto writer = blob_service_.new_payload(ref);
      CO_TRY(co_await writer.append(bytes));
      auto payload = CO_TRY(co_await writer.finish());
      CO_TRY(co_await blob_service_.put_blob(ref, {}, std::move(payload), {}));
      co_return Result<void>{};
    };
    ASSERT_TRUE(run_beside(stored()).has_value());
  }
  void erase_blob(const std::string& name) {
    const blob_store::FencedWrite write{{"somebody", 1, "", 0}, INT64_MAX};
    ASSERT_EQ(run_beside(blobs_.erase("lists", name, write)).value_or(WriteOutcome::kMissing), WriteOutcome::kApplied);
  }
  std::string text_of(const std::string& name) {
    const auto read = run_beside(blobs_.read("lists", name, 0, std::nullopt));
    return read && *read ? (*read)->bytes : "(missing)";
  }
  std::string blob_of(const Index& index, const std::string& colour) {
    for (const auto& row : directory(index)) {
      if (row.partition_key.ends_with(" " + colour)) return jobs::property_or<std::string>(row, indexes::kBlobProperty);
    }
    return {};
  }
  /// From this call of an owner to the stores on, none is answered; the first one takes effect or not.
  void cut_off_at(int call, bool after_its_effect) {
    calls_ = 0;
    is_cut_off_ = false;
    for (auto* link : {&table_link_, &blob_link_}) {
      link->before = [this, call, after_its_effect](std::string) -> Task<Result<void>> {
        if (is_cut_off_ || (!after_its_effect && ++calls_ == call)) is_cut_off_ = true;
        if (is_cut_off_) co_return fail(ErrorCode::kUnavailable);
        co_return Result<void>{};
      };
      link->lose_reply = [this, call, after_its_effect] {
        if (after_its_effect && ++calls_ == call) is_cut_off_ = true;
        return is_cut_off_;
      };
    }
  }
  void connect() {
    for (auto* link : {&table_link_, &blob_link_}) link->before = nullptr, link->lose_reply = nullptr;
  }
  int calls_ = 0;
  bool is_cut_off_ = false;
  using Parameters = std::vector<std::pair<std::string, std::string>>;
  std::vector<std::string> found(const Index& index, Parameters parameters) {
    std::vector<std::string> out;
    table_store::ListingClient listings(table_link_, kAccount);
    indexes::Lookup lookup(tables_, listings, &blobs_, store_, *clock_);
    parameters.emplace_back("continuation", "");
    do {
      const auto request = indexes::read_lookup(index.definition, parameters);
      EXPECT_TRUE(request.has_value()) << request.error().message;
      auto status = run_beside(lookup.status(index.name));
      EXPECT_TRUE(status.has_value());
      auto page = run_beside(lookup.find(std::move(*status), *request, [] { return false; }));
      EXPECT_TRUE(page.has_value()) << page.error().message;
      if (!page) break;
      for (const auto& entity : page->found.entities) out.push_back(entity.partition_key + "/" + entity.row_key);
      parameters.back().second = page->found.continuation;
    } while (!parameters.back().second.empty());
    std::ranges::sort(out);
    return out;
  }
};

TEST_F(WorkersBlobLists, DivideWhatIsTooLargeForOneBlob) {
  const auto index = declare("in-blobs", kListedInBlobs);
  const std::string padding(400, 'x');
  for (int partition = 0; partition < 9; ++partition) {
    std::vector<Mutation> mutations;
    for (int row = 0; row < 100; ++row) mutations.push_back(entity(padding + std::to_string(row), "red", 1));
    ASSERT_TRUE(run(tables_.mutate("Source", "p" + std::to_string(partition), mutations, std::nullopt)).has_value());
  }
  start_keeper("w1");
  expect_true(index);
  const auto rows = directory(index);
  EXPECT_GE(rows.size(), 2U);
  EXPECT_LE(rows.size(), 4U);
  for (const auto& row : rows) {
    EXPECT_LE(jobs::property_or<std::int64_t>(row, indexes::kBytesProperty), std::int64_t{indexes::kBlobPieceBytes});
  }
  EXPECT_EQ(found(index, {{"value", "red"}, {"top", "7"}}).size(), 900U);
}

TEST_F(WorkersBlobLists, WriteABlobOnceForAllChangesOfAPage) {
  const auto index = declare("in-blobs", kListedInBlobs);
  start_keeper("w1");
  write(entity("r0", "red", 1), "p0");
  expect_true(index);
  run_beside(keepers_.back()->stop());
  std::vector<Mutation> mutations;
  for (int row = 1; row < 100; ++row) mutations.push_back(entity("r" + std::to_string(row), "red", 1));
  ASSERT_TRUE(run_beside(tables_.mutate("Source", "p0", mutations, std::nullopt)).has_value());
  int puts = 0;
  blob_link_.before = [&](std::string method) -> Task<Result<void>> {
    puts += method == "blob.put" ? 1 : 0;
    co_return Result<void>{};
  };
  start_keeper("w2");
  drive_until([&] { return caught_up(index); });
  blob_link_.before = nullptr;
  expect_true(index);
  EXPECT_EQ(puts, 1);
}

TEST_F(WorkersBlobLists, HaveALegalNameForAnyValue) {
  const auto index = declare("in-blobs", kListedInBlobs);
  const std::vector<std::string> values{"",     ".",   "..",      "a.",   "a/b\\c#d?e",
                                        "100%", "%2E", "Ähm, ja", "true", std::string(500, 'z')};
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto mutation = entity("r" + std::to_string(i), "x", 1);
    mutation.properties[0].value = values[i];
    write(std::move(mutation), "p0");
  }
  start_keeper("w1");
  expect_true(index);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(found(index, {{"value", values[i]}}), std::vector<std::string>{"p0/r" + std::to_string(i)}) << values[i];
  }
  for (const auto& name : blobs_in("lists")) {
    const auto blob = indexes::parse_blob_name("by-colour/", name);
    ASSERT_TRUE(blob) << name;
    EXPECT_EQ(std::ranges::count(name, '/'), 2) << name;
    EXPECT_EQ(name.find("./"), std::string::npos) << name;
    EXPECT_EQ(name.find("//"), std::string::npos) << name;
  }
}

TEST_F(WorkersBlobLists, AreFoundByValuePrefixAndRange) {
  const auto index = declare("in-blobs", kListedInBlobs);
  start_keeper("w1");
  for (const auto& [row, colour] : {std::pair("r1", "red"), {"r2", "blue"}, {"r3", "bluish"}, {"r4", "green"}}) {
    write(entity(row, colour, 1), "p0");
  }
  expect_true(index);
  EXPECT_EQ(found(index, {{"value", "blue"}}), (std::vector<std::string>{"p0/r2"}));
  EXPECT_EQ(found(index, {{"prefix", "blu"}}), (std::vector<std::string>{"p0/r2", "p0/r3"}));
  EXPECT_EQ(found(index, {{"prefix", "blu"}, {"top", "1"}}), (std::vector<std::string>{"p0/r2", "p0/r3"}));
  EXPECT_EQ(found(index, {{"from", "bluf"}, {"to", "green"}}), (std::vector<std::string>{"p0/r3", "p0/r4"}));
  EXPECT_EQ(found(index, {{"top", "3"}}).size(), 4U);
}

TEST_F(WorkersBlobLists, ALookupGoesOnBehindABlobThatWasReplaced) {
  const auto index = declare("in-blobs", kListedInBlobs);
  start_keeper("w1");
  write(entity("r1", "red", 1), "p0");
  expect_true(index);
  const auto old = blob_of(index, "red");
  int reads = 0;
  // The blob is replaced between the reads of the row and of the blob that it names.
  blob_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (method != "blob.read" || reads++ > 0) co_return Result<void>{};
    CO_TRY(co_await tables_.mutate("Source", "p0", {entity("r2", "red", 1)}, std::nullopt));
    while (CO_TRY(co_await blobs_.read("lists", old, 0, std::nullopt))) co_await sleep_for(*clock_, 1ms);
    co_return Result<void>{};
  };
  EXPECT_EQ(found(index, {{"value", "red"}}), (std::vector<std::string>{"p0/r1", "p0/r2"}));
  blob_link_.before = nullptr;
  EXPECT_GT(reads, 2);
}

TEST_F(WorkersBlobLists, NeverTouchBlobsOfOthers) {
  const auto index = declare("in-blobs", kListedInBlobs);
  start_keeper("w1");
  write(entity("r1", "red", 1), "p0");
  expect_true(index);
  const auto beside = indexes::blob_name("by-colour/", {"red", ~0ULL, 77});
  const auto elsewhere = indexes::blob_name("by-colour/", {"blue", 5, 1});
  for (const auto& name : {beside, elsewhere, std::string("by-colour/notes.txt")}) put_foreign(name, "mine");
  // A user overwrites a blob of the index: it no longer belongs to the index.
  const auto taken = blob_of(index, "red");
  put_foreign(taken, R"([["p0","nobody"]])");
  write(entity("r2", "red", 1), "p0");
  drive_until([&] { return caught_up(index); });
  scrub(index);
  EXPECT_EQ(actual(index), wanted(index));
  EXPECT_NE(blob_of(index, "red"), taken);
  ask("in-blobs", {.drop = true});
  drive_until([&] { return !run_beside(store_.find("in-blobs"))->has_value(); });
  EXPECT_EQ(blobs_in("lists"), (std::set<std::string>{beside, elsewhere, "by-colour/notes.txt", taken}));
  EXPECT_EQ(text_of(beside), "mine");
  EXPECT_TRUE(directory(index).empty());
}

TEST_F(WorkersBlobLists, AScrubMendsWhatIsMissingOnEitherSide) {
  const auto index = declare("in-blobs", kListedInBlobs);
  start_keeper("w1");
  write_at_random(80);
  expect_true(index);
  scrub(index);
  EXPECT_EQ(progress(index).wrong, 0U);
  // A row without its blob, a blob without its row, and a row of a value that no entity has any more.
  const auto lost = directory(index);
  ASSERT_GE(lost.size(), 3U);
  erase_blob(jobs::property_or<std::string>(lost[0], indexes::kBlobProperty));
  auto erasure = entity(lost[1].row_key, "", -1);
  erasure.kind = MutationKind::kErase;
  write(erasure, lost[1].partition_key, std::string(indexes::kIndexTable));
  scrub(index);
  EXPECT_GT(progress(index).wrong, 0U);
  EXPECT_EQ(actual(index), wanted(index));
  expect_no_other_blobs(index);
  scrub(index);
  EXPECT_EQ(progress(index).wrong, 0U);
}

TEST_F(WorkersBlobLists, ARowWhoseBlobIsLostGoesWithItsLastEntity) {
  const auto index = declare("in-blobs", kListedInBlobs);
  start_keeper("w1");
  write(entity("r1", "red", 1), "p0");
  expect_true(index);
  erase_blob(blob_of(index, "red"));
  write(entity("r1", "blue", 1), "p0");
  drive_until([&] { return caught_up(index); });
  scrub(index);
  EXPECT_EQ(directory(index).size(), 1U);
  EXPECT_EQ(actual(index), wanted(index));
}

TEST_F(WorkersBlobLists, AreMadeAgainWhenTheirContainerIsGone) {
  const auto index = declare("in-blobs", kListedInBlobs);
  start_keeper("w1");
  write_at_random(40);
  expect_true(index);
  ASSERT_TRUE(run_beside(blob_service_.delete_container({kAccount, "lists"}, {})).has_value());
  write_at_random(20);
  drive_until([&] { return caught_up(index); });
  scrub(index);
  EXPECT_EQ(actual(index), wanted(index));
  expect_no_other_blobs(index);
}

TEST_F(WorkersBlobLists, ReportValuesThatShouldBeUnique) {
  const auto index = declare("in-blobs", R"({"kind":"lists","source":"Source","by":["Colour"],"where":"blobs",
                                             "container":"lists","unique":true})");
  start_keeper("w1");
  write(entity("r1", "red", 1), "p0");
  write(entity("r2", "red", 1), "p0");
  write(entity("r3", "blue", 1), "p0");
  expect_true(index);
  const auto violations = run_beside(store_.violations(index.id, 10, {}))->violations;
  ASSERT_EQ(violations.size(), 1U);
  EXPECT_EQ(violations.front().group, "red");
  EXPECT_EQ(violations.front().count, 2);
}

/// The owner's calls to both stores are numbered; at each in turn it is cut off for good, before or after the effect,
/// and another owner takes over.
TEST_F(WorkersBlobLists, SurviveADeathAtEachStep) {
  const auto index = declare("in-blobs", kListedInBlobs);
  std::uint64_t epoch = 0;
  const auto start = [&] {
    auto owner = IndexOwner::create(index_services(), index, ++epoch);
    owner->start(io_.get_executor());
    return owner;
  };
  auto alive = start();
  write_at_random(40);
  expect_true(index);
  for (const bool after : {false, true}) {
    for (int at = 1; at <= 40; ++at) {
      alive->stop();
      write_at_random(1);  // the change that it waits for
      drive_until([&] { return alive->ended(); });
      write_at_random(8);
      cut_off_at(at, after);
      auto dying = start();
      drive_until([&] { return is_cut_off_; });
      dying->stop();
      drive_until([&] { return dying->ended(); });
      connect();
      alive = start();
      expect_true(index);
      ASSERT_FALSE(HasFailure()) << (after ? "after" : "before") << " call " << at;
    }
  }
  EXPECT_EQ(progress(index).wrong_ever, 0U);
  alive->stop();
  write_at_random(1);
  drive_until([&] { return alive->ended(); });
}

TEST_F(WorkersBlobLists, AreDroppedWhateverStepADropDiesAt) {
  for (const bool after : {false, true}) {
    is_cut_off_ = true;
    for (int at = 1; is_cut_off_; ++at) {
      ASSERT_LT(at, 100) << "more calls than expected";
      auto index = declare("in-blobs", kListedInBlobs);
      std::uint64_t epoch = 0;
      const auto start = [&] {
        auto owner = IndexOwner::create(index_services(), index, ++epoch);
        owner->start(io_.get_executor());
        return owner;
      };
      const auto first = start();
      write(entity("r1", "red", at), "p0");
      expect_true(index);
      first->stop();
      write(entity("r2", "blue", at), "p0");  // the change that it waits for
      drive_until([&] { return first->ended(); });
      ask("in-blobs", {.drop = true});
      index.dropping = true;
      cut_off_at(at, after);
      const auto dying = start();
      drive_until([&] { return is_cut_off_ || dying->ended(); });
      dying->stop();
      drive_until([&] { return dying->ended(); });
      connect();
      const auto last = start();
      drive_until([&] { return last->ended(); });
      EXPECT_FALSE(run_beside(store_.find("in-blobs"))->has_value());
      EXPECT_TRUE(run_beside(tables_.followers("Source"))->empty());
      EXPECT_TRUE(directory(index).empty());
      expect_no_other_blobs(index);
      ASSERT_FALSE(HasFailure()) << (after ? "after" : "before") << " call " << at;
    }
  }
}

TEST_F(WorkersBlobLists, AreDeclaredInAContainerOfTheirOwnPart) {
  const auto put = [&](const std::string& name, const std::string& where) {
    const auto text = R"({"kind":"lists","source":"Source","by":["Colour"],"where":"blobs",)" + where + "}";
    auto definition = indexes::parse_definition(std::string_view(text));
    EXPECT_TRUE(definition.has_value()) << definition.error().message;
    auto stored = run_beside(indexes::declare(tables_, &blobs_, store_, name, *definition));
    return stored ? std::string() : stored.error().message;
  };
  ASSERT_TRUE(run(blobs_.ensure_container("lists")).has_value());
  put_foreign("old/notes.txt", "mine");
  EXPECT_NE(put("a", R"("container":"lists")").find("old/notes.txt"), std::string::npos);
  EXPECT_NE(put("a", R"("container":"lists","prefix":"old/")").find("holds other blobs"), std::string::npos);
  EXPECT_EQ(put("a", R"("container":"lists","prefix":"new/")"), "");
  EXPECT_NE(put("b", R"("container":"lists","prefix":"new/er/")").find("blobs of index a"), std::string::npos);
  EXPECT_EQ(put("b", R"("container":"lists","prefix":"newer/")"), "");
  EXPECT_EQ(put("c", R"("container":"others")"), "");
}

}  // namespace
}  // namespace tidemark::workers
