// TableClient against the dispatch through a loopback that carries bytes only, as the wire does.
#include "tests/support/loopback.h"
#include "tests/support/seeded_random.h"
#include "tests/unit/table_fixture.h"

namespace tidemark::table_store {
namespace {

using enum MutationKind;

struct TableClientTest : TableFixture {
  rpc::Loopback loopback{make_table_dispatch(*service)};
  TableClient client{loopback, "acct"};

  void SetUp() override {
    loopback.before = [](const std::string&, Duration deadline) { EXPECT_EQ(deadline, std::chrono::seconds(10)); };
  }
};

TEST_F(TableClientTest, TablesComeAndGo) {
  EXPECT_FALSE(*run_task(client.table_exists("people")));
  ASSERT_TRUE(run_task(client.create_table("People")).has_value());
  EXPECT_TRUE(run_task(client.create_table("people")).failed_with(ErrorCode::kTableAlreadyExists));
  EXPECT_TRUE(*run_task(client.table_exists("people")));
  EXPECT_EQ(*run_task(client.list_tables()), std::vector<std::string>{"People"});
  ASSERT_TRUE(run_task(client.delete_table("people")).has_value());
  EXPECT_TRUE(run_task(client.delete_table("people")).failed_with(ErrorCode::kResourceNotFound));
  EXPECT_TRUE(run_task(client.get("people", "p", "r")).failed_with(ErrorCode::kTableNotFound));
}

TEST_F(TableClientTest, EveryTypeTravels) {
  ASSERT_TRUE(run_task(client.create_table("people")).has_value());
  Guid guid;
  guid.bytes[3] = 9;
  std::vector<Property> all{{"s", Value(std::string("h\xC3\xA9llo"))},
                            {"i", Value(std::int32_t{-5})},
                            {"l", Value(std::int64_t{1} << 60)},
                            {"d", Value(1.5)},
                            {"b", Value(true)},
                            {"t", Value(Time(Ticks(77)))},
                            {"g", Value(guid)},
                            {"x", Value(Binary{std::string("\0\1", 2)})}};
  std::vector<Mutation> changes{change(kInsert, "r", all)};
  auto outcome = run_task(client.mutate("people", "p", changes, Fence{"op", 1, "moved"}));
  ASSERT_TRUE(outcome.has_value());
  auto found = run_task(client.get("people", "p", "r"));
  ASSERT_TRUE(found.has_value() && *found);
  EXPECT_EQ((*found)->version, (*outcome)[0].version);
  ASSERT_EQ((*found)->properties.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ((*found)->properties[i].value, all[i].value) << i;
  EXPECT_FALSE(*run_task(client.get("people", "p", "nobody")));
  EXPECT_EQ(run_task(client.read_operation("op"))->counter("moved"), 1U);
  EXPECT_EQ(run_task(client.count(Fence{"op", 1, "skipped"}, 3))->counter("skipped"), 3U);
  EXPECT_EQ(run_task(client.open_operation("op", 2, 0))->epoch, 2U);
  EXPECT_TRUE(run_task(client.close_operation("op", 2, 0))->closed);
  auto failed = run_task(client.mutate("people", "p", changes, std::nullopt));
  ASSERT_TRUE(failed.failed_with(ErrorCode::kEntityAlreadyExists));
  EXPECT_EQ(failed.error().index, std::size_t{0});
  changes.front().row_key = "new";
  changes.push_back(change(kReplace, "nobody"));
  auto second = run_task(client.mutate("people", "p", changes, std::nullopt));
  ASSERT_TRUE(second.failed_with(ErrorCode::kResourceNotFound));
  EXPECT_EQ(second.error().index, std::size_t{1});
  EXPECT_EQ(second.error().message, default_message_of(ErrorCode::kResourceNotFound));
}

TEST_F(TableClientTest, PagesUnderConcurrentWrites) {
  ASSERT_TRUE(run_task(client.create_table("people")).has_value());
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(mutate(change(kInsert, std::to_string(100 + i))).has_value());
  QueryRequest request;
  request.table = "people";
  request.top = 7;
  std::vector<std::string> seen;
  int round = 0;
  do {
    auto page = run_task(client.query(request));
    ASSERT_TRUE(page.has_value());
    for (const auto& entity : page->entities) seen.push_back(entity.row_key);
    request.continuation = page->continuation;
    // Behind the cursor and ahead of all rows: neither repeats nor skips a row that was there all the time.
    ASSERT_TRUE(mutate(change(kInsertOrReplace, "0" + std::to_string(round++))).has_value());
    ASSERT_TRUE(mutate(change(kErase, seen.front())).has_value() || round > 1);
  } while (!request.continuation.empty());
  ASSERT_EQ(seen.size(), 50U);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], std::to_string(100 + i));
  request.continuation = "not base64!";
  EXPECT_TRUE(run_task(client.query(request)).failed_with(ErrorCode::kInvalidInput));
}

TEST_F(TableClientTest, DamagedRequestsAreRefused) {
  auto dispatch = make_table_dispatch(*service);
  auto seeded = make_seeded_random(3);
  for (const char* method : {"table.get",         "table.mutate",    "table.query",
                             "table.open",        "table.close",     "table.operation",
                             "table.count",       "table.create",    "table.delete",
                             "table.exists",      "table.list",      "table.x",
                             "table.mutate_all",  "table.find_rows", "table.follow",
                             "table.unfollow",    "table.followers", "table.changed_entities",
                             "table.acknowledge", "table.put_feed",  "table.drop_feed",
                             "table.feed",        "table.changes"}) {
    for (int i = 0; i < 300; ++i) {
      std::string payload(seeded->below(40), '\0');
      for (auto& c : payload) c = static_cast<char>(seeded->below(i % 2 ? 256 : 6));
      auto reply = run_task(dispatch(method, payload));
      if (std::string_view(method) == "table.x") {
        EXPECT_TRUE(reply.failed_with(ErrorCode::kNotImplemented));
      }
    }
  }
}

}  // namespace
}  // namespace tidemark::table_store
