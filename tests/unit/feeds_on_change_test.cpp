// On-change followers: their declarations, and their rows.
#include <nlohmann/json.hpp>

#include "feeds/on_change/on_change_store.h"
#include "tests/support/loopback.h"
#include "tests/unit/table_fixture.h"

namespace tidemark::feeds {
namespace {

OnChangeDefinition definition_of(std::string_view text) {
  auto parsed = parse_on_change(text);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? parsed->definition : OnChangeDefinition{};
}

TEST(OnChangeDefinition, IsReadAndWritten) {
  for (const auto* text :
       {R"({"queue":"things"})", R"({"webhook":{"url":"https://example.org/in"},"filter":"Age gt 1","values":"both"})",
        R"({"webhook":{"url":"https://example.org/","headers":{"x-a":"b"},"secret":"other"},"maxAttempts":3})"}) {
    const auto definition = definition_of(text);
    const auto again = parse_on_change_definition(to_json(definition));
    ASSERT_TRUE(again) << text;
    EXPECT_EQ(*again, definition) << text;
  }
  EXPECT_EQ(parse_on_change(R"({"queue":"things"})")->after, "now");
  EXPECT_EQ(parse_on_change(R"({"queue":"things","after":"oldest"})")->after, "oldest");
}

TEST(OnChangeDefinition, WhatIsNoneIsRefused) {
  for (const auto* bad :
       {"", "[]", "{}", R"({"queue":"Q"})", R"({"queue":"things","webhook":{"url":"https://a.org/"}})",
        R"({"webhook":{}})", R"({"webhook":1})", R"({"queue":"things","webhook":"https://a.org/"})",
        R"({"queue":"things","filter":"("})", R"({"queue":"things","maxAttempts":0})", R"({"queue":"things","x":1})"}) {
    const auto parsed = parse_on_change(bad);
    EXPECT_TRUE(parsed.failed_with(ErrorCode::kOnChangeInvalid)) << bad;
  }
}

TEST(OnChangeDefinition, NamesNoQueueWhoseMessagesAreJobsOrPoison) {
  for (const std::string queue : {"tidemark-jobs", "tidemark-jobs-high", "tidemark-jobs-own", "tidemark-jobs-poison",
                                  "tidemark-jobs2", "things-poison"}) {
    const auto text = R"({"queue":")" + queue + "\"}";
    EXPECT_TRUE(parse_on_change(text).failed_with(ErrorCode::kOnChangeInvalid)) << queue;
    EXPECT_TRUE(parse_on_change_definition(nlohmann::json::parse(text))) << "of a stored one";
  }
  EXPECT_TRUE(parse_on_change(R"({"queue":"tidemark-job"})"));
}

TEST(OnChangeDefinition, SaysWhatItsFeedMustKeep) {
  const table_store::ChangeFeed keys, old{.old_values = true}, both{.old_values = true, .new_values = true};
  const auto plain = definition_of(R"({"queue":"things"})");
  const auto before = definition_of(R"({"queue":"things","values":"old"})");
  const auto filtered = definition_of(R"({"queue":"things","filter":"Age gt 1"})");
  for (const auto* feed : {&keys, &old, &both}) EXPECT_TRUE(keeps_enough(*feed, plain));
  EXPECT_FALSE(keeps_enough(keys, before));
  EXPECT_TRUE(keeps_enough(old, before));
  EXPECT_FALSE(keeps_enough(old, filtered));
  EXPECT_TRUE(keeps_enough(both, filtered));
}

struct OnChangeStoreTest : table_store::TableFixture {
  rpc::Loopback loopback{table_store::make_table_dispatch(*service)};
  table_store::TableClient tables{loopback, "acct"};
  OnChangeStore store{tables, clock, *random};
  OnChangeDefinition definition = definition_of(R"({"queue":"things"})");
};

TEST_F(OnChangeStoreTest, OneIsThereUntilItIsRemoved) {
  EXPECT_TRUE(run_task(store.get("People", "a")).failed_with(ErrorCode::kOnChangeNotFound));
  const auto before = *run_task(store.changes());
  const auto made = run_task(store.put("People", "a", definition, "token"));
  ASSERT_TRUE(made && made->created);
  EXPECT_GT(*run_task(store.changes()), before);
  EXPECT_FALSE(run_task(store.put("PEOPLE", "a", definition, "other"))->created);
  EXPECT_EQ(run_task(store.get("people", "a"))->start, "token");
  auto other = definition;
  other.max_attempts = 1;
  EXPECT_TRUE(run_task(store.put("People", "a", other, "token")).failed_with(ErrorCode::kOnChangeInvalid));
  ASSERT_TRUE(run_task(store.put("People", "b", other, "token")));
  EXPECT_EQ(run_task(store.all())->size(), 2U);
  EXPECT_EQ(run_task(store.resume("people", "a", "from"))->resumes_asked, 1);
  EXPECT_EQ(run_task(store.get("people", "a"))->resume_after, "from");
  ASSERT_TRUE(run_task(store.remove("People", "a")));
  EXPECT_TRUE(run_task(store.get("People", "a")).failed_with(ErrorCode::kOnChangeNotFound));
  EXPECT_TRUE(run_task(store.remove("People", "a")).failed_with(ErrorCode::kOnChangeNotFound));
}

TEST_F(OnChangeStoreTest, AnOwnerOfWhatWasRemovedIsFenced) {
  const auto id = run_task(store.put("People", "a", definition, "token"))->on_change.id;
  const auto fence = [&](std::uint64_t epoch) { return table_store::Fence{operation_of(id), epoch, ""}; };
  ASSERT_TRUE(run_task(tables.open_operation(operation_of(id), 5, 0)));
  OnChangeProgress progress;
  progress.told = 7;
  ASSERT_TRUE(run_task(store.write_progress(id, progress, fence(6))));
  EXPECT_EQ(run_task(store.progress(id))->told, 7U);
  ASSERT_TRUE(run_task(store.remove("People", "a")));
  EXPECT_TRUE(run_task(store.write_progress(id, progress, fence(7))).failed_with(ErrorCode::kFenced));
  EXPECT_EQ(run_task(store.progress(id))->told, 0U);
}

TEST_F(OnChangeStoreTest, ARemovalThatWasInterruptedIsFinishedLater) {
  OnChangeProgress progress;
  progress.told = 7;
  const auto begin = [&](const std::string& name) {
    const auto id = run_task(store.put("People", name, definition, "token"))->on_change.id;
    jobs::Owner owner{.worker = "w", .epoch = 1};
    EXPECT_TRUE(*run_task(store.swap_owner(id, owner)));
    EXPECT_TRUE(run_task(tables.open_operation(operation_of(id), 5, 0)));
    EXPECT_TRUE(run_task(store.write_progress(id, progress, table_store::Fence{operation_of(id), 6, ""})));
    return id;
  };
  const auto stays = begin("stays");
  jobs::Owner keeper{.worker = "w", .epoch = 1};
  const auto keeper_row = std::string(jobs::kKeeperRow) + "w";
  ASSERT_TRUE(*run_task(store.swap_owner(keeper_row, keeper)));
  // A removal makes this many calls.
  for (int fatal = 2; fatal <= 7; ++fatal) {
    const auto id = begin("a");
    int calls = 0;
    loopback.fails = [&](const std::string&) { return ++calls >= fatal; };
    EXPECT_FALSE(run_task(store.remove("People", "a"))) << fatal;
    loopback.fails = nullptr;
    const auto again = run_task(store.remove("People", "a"));
    EXPECT_TRUE(again || again.failed_with(ErrorCode::kOnChangeNotFound));
    EXPECT_TRUE(run_task(tables.read_operation(operation_of(id)))->closed) << fatal;
    EXPECT_EQ(run_task(store.progress(id))->told, 0U) << fatal;
    EXPECT_EQ(run_task(store.owner(id))->version, 0) << fatal;
  }
  ASSERT_TRUE(run_task(store.finish_removals()));
  EXPECT_EQ(run_task(store.progress(stays))->told, 7U);
  EXPECT_NE(run_task(store.owner(stays))->version, 0);
  EXPECT_NE(run_task(store.owner(keeper_row))->version, 0);
  EXPECT_FALSE(run_task(tables.read_operation(operation_of(stays)))->closed);
}

}  // namespace
}  // namespace tidemark::feeds
