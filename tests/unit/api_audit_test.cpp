// The audit trail in a table: newest first across days, filtered, and removed when it is old.
#include <gmock/gmock.h>

#include "jobs/audit/audit_store.h"
#include "jobs/store/rows.h"
#include "tests/support/loopback.h"
#include "tests/unit/table_fixture.h"
#include "workers/upkeep/collector.h"

namespace tidemark::jobs {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct AuditTest : table_store::TableFixture {
  AuditEntry add(const std::string& target, const std::string& actor = "ann") {
    AuditEntry entry;
    entry.actor = actor;
    entry.operation = "jobs.cancel";
    entry.target = target;
    entry.outcome = outcome::kBegun;
    auto added = run_task(store.add(std::move(entry)));
    EXPECT_TRUE(added.has_value());
    return added.value_or(AuditEntry());
  }
  std::vector<std::string> targets(AuditFilter filter = {}, std::uint32_t limit = 100) {
    std::vector<std::string> out;
    std::string continuation;
    do {
      const auto page = run_task(store.list(filter, limit, continuation));
      EXPECT_TRUE(page.has_value()) << page.error().message;
      if (!page) break;
      for (const auto& entry : page->entries) out.push_back(entry.target);
      continuation = page->continuation;
    } while (!continuation.empty());
    return out;
  }

  rpc::Loopback loopback{table_store::make_table_dispatch(*service)};
  table_store::TableClient tables{loopback, "acct"};
  AuditStore store{tables, clock, *random};
};

TEST_F(AuditTest, IsEmptyBeforeAnybodyDidAnything) {
  EXPECT_THAT(targets(), IsEmpty());
  EXPECT_EQ(run_task(collect_audit(tables, clock.now())).value(), 0U);
}

TEST_F(AuditTest, IsReadNewestFirstAndByPages) {
  for (const auto* target : {"one", "two", "three", "four"}) {
    add(target);
    clock.time += hours(20);
  }
  EXPECT_THAT(targets(), ElementsAre("four", "three", "two", "one"));
  EXPECT_THAT(targets({}, 1), ElementsAre("four", "three", "two", "one"));
}

TEST_F(AuditTest, IsFiltered) {
  add("one");
  clock.time += hours(30);
  const auto since = clock.now();
  add("two", "o'hara");
  clock.time += minutes(1);
  add("three");
  EXPECT_THAT(targets({since, "", "", ""}), ElementsAre("three", "two"));
  EXPECT_THAT(targets({{}, "o'hara", "", ""}), ElementsAre("two"));
  EXPECT_THAT(targets({{}, "", "", "one"}), ElementsAre("one"));
  EXPECT_THAT(targets({since, "", "jobs.post", ""}), IsEmpty());
}

TEST_F(AuditTest, TheOutcomeReplacesTheBeginning) {
  auto entry = add("one");
  entry.outcome = outcome::kDone;
  entry.status = 200;
  entry.count = 7;
  ASSERT_TRUE(run_task(store.complete(entry)).has_value());
  const auto page = run_task(store.list({}, 10, {}));
  ASSERT_TRUE(page.has_value());
  ASSERT_EQ(page->entries.size(), 1U);
  EXPECT_EQ(page->entries[0].outcome, outcome::kDone);
  EXPECT_EQ(page->entries[0].count, 7);
  EXPECT_EQ(page->entries[0].at, entry.at);
}

TEST_F(AuditTest, TextsOfAnyBytesAndLengthAreEntered) {
  AuditEntry entry;
  entry.actor = "ann";
  entry.target = "\xFF";
  entry.reason = std::string(1999, 'x') + "\xC3\xBC\xC3\xBC";
  ASSERT_TRUE(run_task(store.add(std::move(entry))).has_value());
  const auto page = run_task(store.list({}, 10, {}));
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(page->entries.at(0).target, "%FF");
  EXPECT_EQ(page->entries.at(0).reason, std::string(1999, 'x')) << "cut between letters";
}

TEST_F(AuditTest, OldEntriesAreRemoved) {
  for (int i = 0; i < 130; ++i) add("old");
  clock.time += hours(30);
  add("middle");
  clock.time += hours(30);
  const auto limit = clock.now();
  add("new");
  EXPECT_EQ(run_task(collect_audit(tables, limit)).value(), 131U);
  EXPECT_THAT(targets(), ElementsAre("new"));
}

TEST_F(AuditTest, WorkersRemoveOldEntries) {
  rpc::Loopback nowhere{
      [](const std::string&, std::string) -> Task<Result<std::string>> { co_return fail(ErrorCode::kUnavailable); }};
  queue_service::QueueClient queues(nowhere, "acct");
  ASSERT_TRUE(run_task(ensure_table(tables, std::string(kJobTable))).has_value());
  add("old");
  clock.time += hours(48);
  add("new");
  Collector collector(tables, queues, clock, hours(24 * 7), hours(24));
  const auto collected = run_task(collector.collect(clock.now()));
  ASSERT_TRUE(collected.has_value()) << collected.error().message;
  EXPECT_EQ(collected->audit_entries, 1U);
  EXPECT_THAT(targets(), ElementsAre("new"));
}

}  // namespace
}  // namespace tidemark::jobs
