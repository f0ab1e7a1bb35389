// The check reports each kind of damage to the rows of a table store, and no undamaged data.
#include "table_store/storage/table_check.h"

#include <gmock/gmock.h>

#include "common/base/operation_ledger.h"
#include "table_changes_fixture.h"
#include "table_store/storage/change_records.h"
#include "table_store/storage/table_keys.h"
#include "table_store/storage/table_records.h"
#include "tests/support/damage.h"

namespace tidemark::table_store {
namespace {

using kv::edit_row;
using kv::erase_row;
using kv::kGarbage;
using kv::put_row;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A followed table with changes, another one, a dropped one and a ledger.
struct TableCheck : ChangesFixture {
  void SetUp() override {
    create("people");
    create("others");
    create("gone");
    ASSERT_TRUE(follow(following_of("x")).has_value());
    for (const auto* row : {"a", "b", "c"}) ASSERT_TRUE(mutate(change(kInsert, row, {text("City", "Kiel")})));
    ASSERT_TRUE(mutate(change(kErase, "b")));
    ASSERT_TRUE(run_task(service->open_operation("acct", "op", 1)).has_value());
    ASSERT_TRUE(run_task(service->delete_table("acct", "gone")).has_value());
    ASSERT_THAT(check(), IsEmpty());
    ASSERT_EQ(notes().size(), 4U);
  }
  std::vector<std::string> check() {
    kv::CheckRun run;
    EXPECT_TRUE(check_tables(*engine, run));
    return kv::told(run.report());
  }
  std::vector<std::string> notes() { return kv::keys_under(*engine, "l"); }
  static std::string people() { return table_key("acct", "people"); }
  std::uint64_t generation() { return *decode_table_generation(**engine->get(people())); }
  std::string entity(const std::string& row = "a") { return entity_key(generation(), "p", row); }
  std::string head() { return kv::keys_under(*engine, "h").at(0); }
};

TEST_F(TableCheck, TellsRecordsThatCannotBeRead) {
  put_row(*engine, entity(), kGarbage);
  EXPECT_THAT(check(), ElementsAre("record: the entity cannot be read"));
  erase_row(*engine, entity());
  put_row(*engine, kv::key('e', generation(), "\x01\x02"), kGarbage);
  EXPECT_THAT(check(), ElementsAre("record: the entity's key cannot be read"));
}

TEST_F(TableCheck, TellsAnEntityWhosePropertiesCannotBeRead) {
  put_row(*engine, entity(), encode_entity(1, std::nullopt, kGarbage));
  EXPECT_THAT(check(), ElementsAre("record: the entity cannot be read"));
}

TEST_F(TableCheck, TellsAnEntityOfNoTable) {
  put_row(*engine, entity_key(99, "p", "a"), **engine->get(entity()));
  EXPECT_THAT(check(), ElementsAre("reference: the entity belongs to no table"));
}

TEST_F(TableCheck, TellsATableThatCannotBeReadAndWhatWasInIt) {
  put_row(*engine, people(), kGarbage);
  EXPECT_THAT(check(), ElementsAre("record: the table cannot be read", "reference: the entity belongs to no table"));
}

TEST_F(TableCheck, TellsTablesWithOneGeneration) {
  edit_row(*engine, table_key("acct", "others"), kTableRecord, [&](auto& table) { table.generation = generation(); });
  EXPECT_THAT(check(), ElementsAre("reference: another table has the same generation"));
}

TEST_F(TableCheck, TellsWhatIsBeyondTheCounters) {
  put_row(*engine, std::string(kLastGenerationKey), kCounterRecord.encode(0));
  EXPECT_THAT(check(), ElementsAre("figure: its generation is beyond the last one given out"));
  put_row(*engine, std::string(kLastVersionKey), kCounterRecord.encode(1));
  EXPECT_THAT(check(), Contains("figure: the entity's version is beyond the last one given out"));
}

TEST_F(TableCheck, TellsACounterThatCannotBeRead) {
  put_row(*engine, std::string(kLastVersionKey), kGarbage);
  EXPECT_THAT(check(), ElementsAre("record: the counter cannot be read"));
}

TEST_F(TableCheck, TellsAFeedThatCannotBeReadAndItsNotes) {
  put_row(*engine, feed_key("acct", "people"), kGarbage);
  EXPECT_THAT(check(), ElementsAre("record: the feed cannot be read", "reference: belongs to no feed"));
}

TEST_F(TableCheck, TellsAFeedWithoutAHead) {
  const auto key = head();
  erase_row(*engine, key);
  EXPECT_THAT(check(), ElementsAre("reference: the feed has no head"));
  put_row(*engine, key, kGarbage);
  EXPECT_THAT(check(), Contains("record: the head of a feed cannot be read"));
}

TEST_F(TableCheck, TellsAFollowerThatIsAheadOfTheLog) {
  edit_row(*engine, feed_key("acct", "people"), kFeedRecord, [](auto& feed) { feed.followers.at(0).changes = 99; });
  EXPECT_THAT(check(), ElementsAre("figure: the follower x is ahead of the log"));
}

TEST_F(TableCheck, TellsAChangeThatIsMissingInTheLog) {
  erase_row(*engine, notes().at(1));
  EXPECT_THAT(check(), ElementsAre("figure: a change before it is missing in the log"));
}

TEST_F(TableCheck, TellsALogThatIsLongerThanItsHeadSays) {
  edit_row(*engine, head(), kHeadRecord, [](auto& head) { head.changes = 3; });
  EXPECT_THAT(check(), ElementsAre("figure: the log has more changes than its head says"));
}

TEST_F(TableCheck, TellsANoteThatCannotBeRead) {
  put_row(*engine, notes().back(), kGarbage);
  EXPECT_THAT(check(), ElementsAre("record: the note of a change cannot be read"));
}

TEST_F(TableCheck, TellsALedgerThatCannotBeRead) {
  put_row(*engine, operation_key("acct", "op"), kGarbage);
  EXPECT_THAT(check(), ElementsAre("record: the ledger cannot be read"));
}

TEST_F(TableCheck, TellsARowOfNoKnownKind) {
  for (const std::string key : {"", "!", "b", "\xff"}) {  // before, between and after those that are known
    put_row(*engine, key, "");
    EXPECT_THAT(check(), ElementsAre("stray: is of a kind that this version does not know")) << key;
    erase_row(*engine, key);
  }
}

}  // namespace
}  // namespace tidemark::table_store
