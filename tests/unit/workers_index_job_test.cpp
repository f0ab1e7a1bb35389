// The index job: its table equals the result of a scan, with any writes, lost and repeated calls meanwhile, and other
// jobs that build it.
#include <map>
#include <set>

#include "common/base/json.h"
#include "indexes/store/index_store.h"
#include "workers/indexes/build_claims.h"
#include "workers_fixture.h"

namespace tidemark::workers {
namespace {

constexpr const char* kByNumber = R"({"kind":"index","source":"Source","property":"Number","destination":"ByNumber"})";
constexpr const char* kName = "job bynumber";

class WorkersIndexJob : public WorkersFixture {
 protected:
  using Keys = std::map<std::string, std::set<std::string>>;  // by value

  /// Returns the entries of the index; each key once.
  Keys listed() {
    Keys out;
    for (const auto& piece : all("ByNumber")) {
      EXPECT_TRUE(piece.origin.has_value());
      const auto keys = json_or_discarded(jobs::property_or<std::string>(piece, "Keys0"));
      for (const auto& key : keys) {
        const auto name = key[0].get<std::string>() + "/" + key[1].get<std::string>();
        EXPECT_TRUE(out[jobs::property_or<std::string>(piece, "Value")].insert(name).second) << name << " twice";
      }
    }
    return out;
  }
  Keys scanned() {
    Keys out;
    for (const auto& entity : all("Source")) {
      const auto number = jobs::property_or<std::int32_t>(entity, "Number");
      out[std::to_string(number)].insert(entity.partition_key + "/" + entity.row_key);
    }
    return out;
  }
  void fill(int entities) {
    for (int i = 0; i < entities; ++i) put("p" + std::to_string(i % 3), std::to_string(i), i % 5);
  }
  /// Writes as a user would, while a job runs.
  Task<Result<void>> write(std::string row, std::optional<std::int32_t> number) {
    Mutation mutation;
    mutation.kind = number ? MutationKind::kInsertOrReplace : MutationKind::kErase;
    mutation.row_key = std::move(row);
    if (number) mutation.properties = {{"Number", *number}};
    std::vector<Mutation> mutations{std::move(mutation)};
    CO_TRY(co_await table_service_.mutate(kAccount, "Source", "p0", std::move(mutations), std::nullopt));
    co_return Result<void>{};
  }
  std::size_t followers() { return run(tables_.followers("Source"))->size(); }
};

TEST_F(WorkersIndexJob, HoldsWhatAScanGivesAndFollowsItsSource) {
  for (int i = 0; i < 300; ++i) put("p" + std::to_string(i % 3), std::to_string(i), i % 5);
  const auto job = submit(kByNumber);
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).done, 300U);
  auto pieces = all("ByNumber");
  ASSERT_EQ(pieces.size(), 5U);
  for (const auto& piece : pieces) EXPECT_EQ(std::get<std::int32_t>(*piece.find("Count")), 60);

  for (int i = 0; i < 300; ++i) {
    if (i % 5 == 0) put("p" + std::to_string(i % 3), std::to_string(i), 1);
  }
  submit(kByNumber);
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  pieces = all("ByNumber");
  ASSERT_EQ(pieces.size(), 4U);
  EXPECT_EQ(pieces[0].partition_key, "1");
  EXPECT_EQ(std::get<std::int32_t>(*pieces[0].find("Count")), 120);
}

TEST_F(WorkersIndexJob, ReplacesNothingThatIsNoPiece) {
  put("p", "a", 1);
  put("p", "b", 1);
  put("p", "c", 2);
  put("p", "d", 3);
  ASSERT_TRUE(run(tables_.create_table("ByNumber")).has_value());
  put("1", "000000", 77, "ByNumber");
  // A copy that another job keeps there does not belong to the index either.
  Mutation copy;
  copy.kind = MutationKind::kInsertOrReplace;
  copy.row_key = "000000";
  copy.properties = {{"Number", 88}};
  copy.source_version = 1;
  ASSERT_TRUE(run(tables_.mutate("ByNumber", "2", {copy}, std::nullopt)).has_value());
  const auto job = submit(kByNumber);
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  const auto rows = all("ByNumber");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(std::get<std::int32_t>(*rows[0].find("Number")), 77);
  EXPECT_EQ(std::get<std::int32_t>(*rows[1].find("Number")), 88);
  EXPECT_EQ(std::get<std::int32_t>(*rows[2].find("Count")), 1);
  const auto told = record(job.id);
  EXPECT_EQ(told.done, 1U);
  EXPECT_EQ(told.skipped, 3U);
  EXPECT_NE(told.skips.find("another entity is in the way"), std::string::npos) << told.skips;
}

TEST_F(WorkersIndexJob, ReplacesNothingThatAUserWritesMeanwhile) {
  put("p", "a", 1);
  const auto job = submit(kByNumber);
  bool written = false;
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (written || method != "table.mutate_all") co_return Result<void>{};
    written = true;
    Mutation mutation;
    mutation.kind = MutationKind::kInsertOrReplace;
    mutation.row_key = "000000";
    mutation.properties = {{"Number", 77}};
    std::vector<Mutation> mutations{mutation};
    auto done = co_await table_service_.mutate(kAccount, "ByNumber", "1", std::move(mutations), std::nullopt);
    EXPECT_TRUE(done.has_value());
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  table_link_.before = nullptr;
  EXPECT_TRUE(written);
  EXPECT_EQ(std::get<std::int32_t>(*all("ByNumber").at(0).find("Number")), 77);
  EXPECT_EQ(record(job.id).done, 0U);
  EXPECT_EQ(record(job.id).skipped, 1U);
}

TEST_F(WorkersIndexJob, HoldsWhatIsWrittenWhileItRuns) {
  fill(30);
  // Entities are changed after they are read and before their rows are written: one moves, one is removed, one is new.
  for (const auto* at : {"table.mutate_all", "table.find_rows", "table.changed_entities", "table.close"}) {
    submit(kByNumber);
    bool changed = false;
    table_link_.before = [&](std::string method) -> Task<Result<void>> {
      if (changed || !method.starts_with(at)) co_return Result<void>{};
      changed = true;
      CO_TRY(co_await write("0", 7));
      CO_TRY(co_await write("3", std::nullopt));
      CO_TRY(co_await write("3", 9));
      co_return co_await write("6", std::nullopt);
    };
    EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
    table_link_.before = nullptr;
    if (at != std::string("table.close")) {
      EXPECT_TRUE(changed) << at;
      EXPECT_EQ(listed(), scanned()) << "written at " << at;
    }
    put("p0", "0", 0);
    put("p0", "3", 3);
    put("p0", "6", 1);
  }
  EXPECT_EQ(followers(), 0U);
}

TEST_F(WorkersIndexJob, SurvivesALossAnywhere) {
  int round = 0;
  survives_a_loss_anywhere(
      kByNumber,
      [&] {
        fill(20);
        put("p0", "moves", round++ % 7);
      },
      [&](const jobs::JobRecord& record) {
        EXPECT_EQ(record.done, 21U);
        EXPECT_EQ(listed(), scanned());
        EXPECT_EQ(followers(), 0U);
      });
}

TEST_F(WorkersIndexJob, OfTwoAtOnceOneGoesFirst) {
  fill(20);
  const auto first = submit(kByNumber);
  const auto second = submit(R"({"kind":"index","source":"Source","property":"RowKey","destination":"byNumber"})");
  auto message = receive();
  auto other = receive();
  ASSERT_TRUE(message && other);
  std::optional<RunReport> met;
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (met || method != "table.mutate_all") co_return Result<void>{};
    met.emplace();
    LimitGate gate(tables_, *clock_, options_.lease);
    JobRunner runner(options_, services(), gate);
    met = co_await runner.run(std::move(*other), clock_->now(), std::make_shared<const bool>(false),
                              std::string(jobs::kJobQueue));
    co_return Result<void>{};
  };
  EXPECT_EQ(work(std::move(*message)).end, RunEnd::kSucceeded);
  table_link_.before = nullptr;
  ASSERT_TRUE(met.has_value());
  EXPECT_EQ(met->end, RunEnd::kRetried);
  EXPECT_EQ(listed(), scanned()) << "the other one wrote, too";
  EXPECT_EQ(record(second.id).state, jobs::JobState::kQueued);
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(record(second.id).done, 20U);
  const auto rows = listed();
  EXPECT_EQ(rows.size(), 20U) << "another property: nothing of the first one's rows is left";
  EXPECT_EQ(rows.at("19"), (std::set<std::string>{"p1/19"}));
  EXPECT_EQ(record(first.id).state, jobs::JobState::kSucceeded);
}

TEST_F(WorkersIndexJob, AnEarlierDeliveryWritesNothingAnyMore) {
  fill(20);
  submit(kByNumber);
  auto message = receive();
  ASSERT_TRUE(message.has_value());
  bool paused = false;
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (paused || method != "table.mutate_all") co_return Result<void>{};
    paused = true;
    // Another job has its turn, as if this one had ended; then a value moves.
    indexes::IndexStore store(tables_, *clock_, *random_);
    auto row = CO_TRY(co_await store.owner(kName));
    ++row.epoch;
    CO_TRY(co_await store.swap_owner(kName, row));
    Fences later(std::string("index/") + kName, row.epoch);
    const auto fence = later.next();
    CO_TRY(co_await tables_.open_operation(fence.operation_id, fence.epoch, 0));
    co_return Result<void>{};
  };
  EXPECT_NE(work(std::move(*message)).end, RunEnd::kSucceeded);
  table_link_.before = nullptr;
  EXPECT_TRUE(all("ByNumber").empty());
}

TEST_F(WorkersIndexJob, BeginsAnewWhenItsFollowerIsTakenAway) {
  fill(10);
  for (const std::string at : {"table.changed_entities", "table.acknowledge"}) {
    submit(kByNumber);
    bool written = false;
    bool taken = false;
    table_link_.before = [&](std::string method) -> Task<Result<void>> {
      if (!written && method == "table.mutate_all") {
        written = true;
        CO_TRY(co_await write("0", 7));
      }
      if (!written || taken || method != at) co_return Result<void>{};
      taken = true;
      CO_TRY(co_await table_service_.unfollow(kAccount, "Source", kName));
      co_return co_await write("3", 9);
    };
    EXPECT_EQ(work_next().end, RunEnd::kSucceeded) << at;
    table_link_.before = nullptr;
    EXPECT_TRUE(taken) << at;
    EXPECT_EQ(listed(), scanned()) << at;
    put("p0", "0", 0);
    put("p0", "3", 3);
  }
  EXPECT_EQ(followers(), 0U);
}

TEST_F(WorkersIndexJob, PutsItsPiecesInThePlaceOfThoseOfAnOlderForm) {
  fill(10);
  ASSERT_TRUE(run(tables_.create_table("ByNumber")).has_value());
  for (const auto* row : {"000000", "000001"}) {
    auto piece = jobs::copy_of(
        row, 1, {{"Value", "1"}, {"Count", 1}, {"SourceVersion", std::int64_t{1}}, {"Keys0", R"([["p","gone"]])"}});
    ASSERT_TRUE(run(tables_.mutate("ByNumber", "1", {piece}, std::nullopt)).has_value());
  }
  EXPECT_EQ(finish(kByNumber).done, 10U);
  EXPECT_EQ(listed(), scanned());
}

TEST_F(WorkersIndexJob, NobodyFollowsAfterACancel) {
  fill(10);
  const auto job = submit(kByNumber);
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (method != "table.mutate_all") co_return Result<void>{};
    CO_TRY(co_await jobs_.cancel(job.id));
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kDropped);
  table_link_.before = nullptr;
  EXPECT_EQ(followers(), 1U);
  ASSERT_TRUE(run(release_ended_builds(services())).has_value());
  EXPECT_EQ(followers(), 0U);
  EXPECT_EQ(finish(kByNumber).done, 10U);
  EXPECT_EQ(listed(), scanned());
}

TEST_F(WorkersIndexJob, DividesTheListOfACommonValue) {
  for (int i = 0; i < 1500; ++i) put("a partition with a longer key", "row " + std::to_string(i), 5);
  EXPECT_EQ(finish(kByNumber).done, 1500U);
  const auto pieces = all("ByNumber");
  EXPECT_GT(pieces.size(), 1U);
  EXPECT_EQ(pieces.back().row_key, "000000");
  EXPECT_EQ(listed(), scanned());
}

}  // namespace
}  // namespace tidemark::workers
