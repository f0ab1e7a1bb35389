// Lookups: their requests, the keys that may answer them, and their results from rows that are right, outdated, or of
// others.
#include <gmock/gmock.h>

#include <algorithm>

#include "indexes/lookup/lookup.h"
#include "indexes/rows/group_totals.h"
#include "indexes/rows/list_piece.h"
#include "jobs/spec/key_template.h"
#include "table_store/model/group_text.h"
#include "table_store/model/text_order.h"
#include "table_store/odata/etag.h"
#include "tests/unit/index_lookup_fixture.h"

namespace tidemark::indexes {
namespace {

using table_store::join_values;
using table_store::key_text;
using table_store::Mutation;
using table_store::MutationKind;
using table_store::QueryRequest;
using table_store::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const std::string kInPartition = R"(,"where":"partition")";

Definition copies(const std::string& row_key = "mail_{Mail}_{Number}") {
  return defined(R"({"kind":"copies","source":"Source","destination":"Rows","partitionKey":"in_{Section}","rowKey":")" +
                 row_key + "\"}");
}

TEST(LookupRequest, IsRead) {
  const auto request = read_lookup(lists(R"("A","B")"), {{"value", "x y"},
                                                         {"from", "1"},
                                                         {"to", "5"},
                                                         {"type", "Edm.String"},
                                                         {"type", "Int32"},
                                                         {"top", "7"},
                                                         {"select", "A, B"},
                                                         {"minVersion", "2026-11-22T10:00:00.1234567Z"},
                                                         {"maxLag", "0.5"},
                                                         {"wait", "0"},
                                                         {"continuation", "c"}});
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_THAT(request->values, ElementsAre("x y"));
  EXPECT_THAT(request->types, ElementsAre("String", "Int32"));
  EXPECT_EQ(request->top, 7U);
  EXPECT_THAT(request->projection, ElementsAre("A", "B"));
  EXPECT_EQ(to_iso8601(Time(Ticks(request->min_version))), "2026-11-22T10:00:00.1234567Z");
  EXPECT_EQ(request->max_lag, Duration(std::chrono::milliseconds(500)));
  EXPECT_EQ(request->wait, Duration::zero());
  const auto tag = table_store::etag_of(request->min_version);
  EXPECT_EQ(read_lookup(lists(R"("A")"), {{"value", "x"}, {"minVersion", tag}})->min_version, request->min_version);
  EXPECT_TRUE(read_lookup(lists(R"("A")"), {{"select", "keys"}})->keys_only);
}

TEST(LookupRequest, RefusesWithEveryProblem) {
  const auto refused = [](const Definition& definition, const Parameters& parameters, const std::string& why) {
    const auto request = read_lookup(definition, parameters);
    ASSERT_TRUE(request.failed_with(ErrorCode::kInvalidQueryParameterValue)) << why;
    EXPECT_THAT(request.error().message, HasSubstr(why));
  };
  const auto one = lists(R"("A")");
  refused(one, {{"top", "0"}, {"wait", "30001"}}, "top must be");
  refused(one, {{"top", "0"}, {"wait", "30001"}}, "wait must be");
  refused(one, {{"top", "1"}, {"top", "1"}}, "top is given twice");
  refused(one, {{"value", "a"}, {"value", "b"}}, "more values than");
  refused(one, {{"value", "a"}, {"prefix", "b"}}, "there is none");
  refused(one, {{"from", "a"}, {"prefix", "b"}}, "give prefix, or from and to");
  refused(one, {{"value", "a"}, {"type", "Int32"}}, "a value is not of its type");
  refused(one, {{"value", "a"}, {"type", "Float"}}, "type must be one of");
  refused(one, {{"type", "Int32"}}, "give a type for each value");
  refused(one, {{"partition", "p"}}, "unknown parameter \"partition\"");
  refused(one, {{"A", "x"}}, "unknown parameter \"A\"");
  refused(one, {{"select", "1a"}}, "select must be");
  refused(one, {{"minVersion", "12"}}, "minVersion must be");
  refused(one, {{"maxLag", "-1"}}, "maxLag must be");
  refused(one, {{"value", "\xFF"}}, "is not UTF-8");
  refused(lists(R"("A")", kInPartition), {{"value", "a"}}, "partition is missing");
  refused(copies(), {{"Mail", "x"}}, "Section is missing");
  refused(copies(), {{"Section", "s"}, {"Number", "1"}}, "Number is of no use without Mail");
  refused(copies(), {{"Section", "s"}, {"value", "1"}}, "unknown parameter \"value\"");
  refused(copies("x"), {{"Section", "s"}, {"prefix", "1"}}, "there is none");
}

std::vector<GroupRange> ranges(const Definition& definition, const Parameters& parameters) {
  const auto request = read_lookup(definition, parameters);
  EXPECT_TRUE(request) << request.error().message;
  return request ? ranges_of(*request, std::get<ListsKind>(definition.kind).by.size()) : std::vector<GroupRange>{};
}

std::vector<std::string> beginnings(const std::vector<GroupRange>& all) {
  std::vector<std::string> out;
  for (const auto& range : all) out.push_back(range.beginning());
  return out;
}

TEST(LookupRanges, TextIsWhateverItMayBe) {
  const auto one = lists(R"("A")");
  EXPECT_THAT(beginnings(ranges(one, {{"value", "Jones"}})), ElementsAre("Jones"));
  EXPECT_THAT(beginnings(ranges(one, {{"value", "5"}})),
              ElementsAre("5", key_text(Value(std::int32_t{5})), key_text(Value(5.0))));
  EXPECT_THAT(beginnings(ranges(one, {{"value", "5"}, {"type", "Int64"}})),
              ElementsAre(key_text(Value(std::int64_t{5}))));
  EXPECT_THAT(beginnings(ranges(one, {{"value", "true"}})), ElementsAre("true%", "true"));
  EXPECT_THAT(beginnings(ranges(one, {{"value", "true"}, {"type", "String"}})), ElementsAre("true%"));
  EXPECT_THAT(beginnings(ranges(one, {{"value", "2026-01-01"}})),
              ElementsAre("2026-01-01", "2026-01-01T00:00:00.0000000Z"));
  EXPECT_THAT(beginnings(ranges(lists(R"("A","B")"), {{"value", "a,b"}})), ElementsAre("a%2Cb,"));
  EXPECT_EQ(ranges(one, {{"from", "1"}, {"to", "5"}}).size(), 3U);
  EXPECT_EQ(ranges(one, {{"from", "1"}, {"to", "x"}}).size(), 1U);
}

/// Every group that is meant lies where the range looks for it.
TEST(LookupRanges, MissNothing) {
  const std::vector<std::string> values{
      "",   "a",   "true", "true ", "truer", "x", "x!", "a!", "a b", "a-", "a,",           "ab",
      "a_", "a_b", "aB",   "a1",    "b",     "A", "%",  "/",  "z",   "~",  "\xEF\xBF\xBD", "\xF0\x9F\x98\x80"};
  const auto text = [](const std::string& value) { return key_text(Value(value)); };
  const auto is_between = [](const std::string& key, const GroupRange::Place& place) {
    return table_store::compare_ordinal(place.first, key) <= 0 && table_store::compare_ordinal(key, place.before) < 0;
  };
  const auto one = lists(R"("A")"), two = lists(R"("A","B")");
  for (const auto& from : values) {
    for (const auto& to : values) {
      const auto of_one = ranges(one, {{"from", from}, {"to", to}, {"type", "String"}}).front();
      const auto of_two = ranges(two, {{"from", from}, {"to", to}, {"type", "String"}}).front();
      for (const auto& value : values) {
        const auto group = text(value);
        if (of_one.admits({{ValueType::kString, group}})) {
          EXPECT_TRUE(is_between(group, of_one.place('\0', 1))) << from << " " << value << " " << to;
          for (const auto* bound : {"_00", "_ff"}) {
            EXPECT_TRUE(is_between(group + bound, of_one.place('_', 1))) << from << " " << value << " " << to;
          }
        }
        for (const auto& rest : values) {
          if (!of_two.admits({{ValueType::kString, group}, {ValueType::kString, text(rest)}})) continue;
          const auto both = join_values({group, text(rest)});
          EXPECT_TRUE(of_two.admits(both, 2));
          EXPECT_TRUE(is_between(both, of_two.place('\0', 2))) << from << " " << value << " " << to;
          EXPECT_TRUE(is_between(both + "_ff", of_two.place('_', 2))) << from << " " << value << " " << to;
        }
      }
    }
  }
}

TEST(LookupRanges, KnowTypesApart) {
  const auto whole = ranges(lists(R"("A")"), {{"from", "5"}, {"type", "Int32"}}).front();
  const auto of = [](const Value& value) { return std::vector{ValueText{type_of(value), key_text(value)}}; };
  EXPECT_TRUE(whole.admits(of(Value(std::int64_t{5}))));
  EXPECT_TRUE(whole.admits(of(Value(std::int32_t{6}))));
  EXPECT_FALSE(whole.admits(of(Value(std::int32_t{4}))));
  EXPECT_FALSE(whole.admits(of(Value(std::int64_t{-6}))));
  EXPECT_FALSE(whole.admits(of(Value(std::string("q")))));
  EXPECT_FALSE(whole.admits(of(Value(5.0))));
}

TEST_F(IndexLookup, FindsAGroupPageByPage) {
  const auto index = IndexFixture::put("a", lists(R"("A")"));
  std::vector<Entity> members;
  std::vector<std::string> wanted;
  for (int i = 0; i < 20; ++i) {
    members.push_back(put("p" + std::to_string(i % 3), std::to_string(i), {{"A", std::string("x y")}}));
    wanted.push_back(members.back().partition_key + "/" + members.back().row_key);
  }
  put_list(index, "x y", members);
  put_list(index, "x", {put("p", "other", {{"A", std::string("x")}})});
  for (const auto* top : {"1", "2", "3", "4", "7", "20", "100"}) {
    EXPECT_THAT(found(index, {{"value", "x y"}, {"top", top}}), ::testing::UnorderedElementsAreArray(wanted)) << top;
  }
  EXPECT_THAT(found(index, {{"value", "nobody"}}), IsEmpty());
  EXPECT_EQ(found(index, {{"prefix", "x"}, {"top", "5"}}).size(), 21U);
}

TEST_F(IndexLookup, FindsOnceWhatMovesBehindItMeanwhile) {
  const auto index = IndexFixture::put("a", lists(R"("A")"));
  std::vector<Entity> members;
  for (int i = 0; i < 70; ++i) members.push_back(put("p", std::to_string(i), {{"A", std::string("x")}}));
  put_list(index, "x", members, 2);
  QueryRequest all_rows;
  all_rows.table = "Rows";
  const auto rows = run_task(tables.query(std::move(all_rows)))->entities;
  int pages = 0;
  loopback.before = [&](const std::string& method, Duration) {
    if (method != "table.query" || ++pages != 2) return;
    // The last piece that was read joins the next one.
    const auto& seen = rows[31];
    auto joined = *read_piece(rows[32]);
    for (const auto& entry : read_piece(seen)->entries) joined.entries.push_back(entry);
    std::ranges::sort(joined.entries, {}, &ListEntry::hash);
    put_row(index, "x", rows[32].row_key, piece_rows(joined).front().properties);
    auto erasure = jobs::erasure_of(seen.row_key, {});
    erasure.origin = {index.id, "", ""};
    ASSERT_TRUE(run_task(tables.mutate("Rows", "x", {std::move(erasure)}, std::nullopt)));
  };
  const auto all = found(index, {{"prefix", "x"}});
  EXPECT_GE(pages, 2);
  EXPECT_EQ(all.size(), 70U);
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), 70U);
}

TEST_F(IndexLookup, ShowsNoneThatDoesNotMatchByNow) {
  const auto index = IndexFixture::put("a", lists(R"("A")", R"(,"filter":"N gt 1")"));
  const Property x{"A", std::string("x")};
  const auto good = put("p", "good", {x, {"N", std::int32_t{2}}});
  const auto moved = put("p", "moved", {{"A", std::string("y")}, {"N", std::int32_t{2}}});
  const auto filtered = put("p", "filtered", {x, {"N", std::int32_t{1}}});
  Entity gone;
  gone.partition_key = "p";
  gone.row_key = "gone";
  put_list(index, "x", {good, moved, filtered, gone});
  EXPECT_THAT(found(index, {{"value", "x"}}), ElementsAre("p/good"));
  EXPECT_EQ(left_out, 3U);
  EXPECT_THAT(found(index, {{"value", "x"}, {"top", "1"}}), ElementsAre("p/good"));
}

TEST_F(IndexLookup, DoesNotReadRowsOfOthers) {
  const auto index = IndexFixture::put("a", lists(R"("A")")), other = IndexFixture::put("b", lists(R"("B")"));
  const auto entity = put("p", "r", {{"A", std::string("x")}});
  put_list(other, "x", {entity});
  write("Rows", "x", table_store::change(MutationKind::kInsert, "keys_00", {{"Keys", std::string("[[\"p\",\"r\"]]")}}));
  EXPECT_THAT(found(index, {{"value", "x"}}), IsEmpty());
}

TEST_F(IndexLookup, FindsRanges) {
  const auto index = IndexFixture::put("a", lists(R"("A")"));
  for (const std::int32_t number : {-5, 0, 3, 7, 100}) {
    const Value value(number);
    put_list(index, key_text(value), {put("n", std::to_string(number), {{"A", value}})});
  }
  for (const std::string word : {"3", "5", "apple", "pear"}) put_list(index, word, {put("w", word, {{"A", word}})});
  EXPECT_THAT(found(index, {{"from", "0"}, {"to", "7"}, {"type", "Int32"}, {"top", "2"}}),
              ElementsAre("n/0", "n/3", "n/7"));
  EXPECT_THAT(found(index, {{"from", "3"}, {"to", "7"}}), ElementsAre("w/3", "w/5", "n/3", "n/7"));
  EXPECT_THAT(found(index, {{"to", "-1"}, {"type", "Int64"}}), ElementsAre("n/-5"));
  EXPECT_THAT(found(index, {{"from", "apple"}, {"top", "1"}}), ElementsAre("w/apple", "w/pear"));
  EXPECT_THAT(found(index, {{"prefix", "p"}}), ElementsAre("w/pear"));
  EXPECT_THAT(found(index, {{"value", "3"}}), ElementsAre("w/3", "n/3"));
  EXPECT_EQ(found(index, {{"top", "2"}}).size(), 9U);
}

TEST_F(IndexLookup, FindsCompoundValues) {
  const auto index = IndexFixture::put("a", lists(R"("A","B")"));
  for (const std::string a : {"a", "a b", "b"}) {
    for (const std::int32_t b : {1, 2, 30}) {
      const std::vector<Property> values{{"A", a}, {"B", b}};
      const auto entity = put(a, std::to_string(b), values);
      put_list(index, *group_of({"A", "B"}, "", "", values), {entity});
    }
  }
  EXPECT_THAT(found(index, {{"value", "a"}, {"value", "2"}}), ElementsAre("a/2"));
  EXPECT_THAT(found(index, {{"value", "a"}}), ElementsAre("a/1", "a/2", "a/30"));
  EXPECT_THAT(found(index, {{"value", "a b"}, {"from", "2"}}), ElementsAre("a b/2", "a b/30"));
  EXPECT_THAT(found(index, {{"to", "a b"}, {"top", "2"}}),
              UnorderedElementsAre("a/1", "a/2", "a/30", "a b/1", "a b/2", "a b/30"));
}

TEST_F(IndexLookup, FindsInAPartition) {
  const auto index = IndexFixture::put("by-a", lists(R"("A")", kInPartition));
  std::vector<std::string> all;
  for (const std::string value : {"a", "a_b", "a_00", "b", "Jo"}) {
    for (const std::string partition : {"p", "q"}) {
      std::vector<Entity> members;
      for (const auto* row : {"1", "2", "3", "4"}) members.push_back(put(partition, value + row, {{"A", value}}));
      put_list(index, value, members, 1);
      for (const auto& member : members) all.push_back(partition + "/" + member.row_key);
    }
  }
  EXPECT_THAT(found(index, {{"partition", "p"}, {"value", "a"}, {"top", "3"}}),
              UnorderedElementsAre("p/a1", "p/a2", "p/a3", "p/a4"));
  EXPECT_EQ(found(index, {{"partition", "p"}, {"prefix", "a_"}, {"top", "1"}}).size(), 8U);
  EXPECT_EQ(found(index, {{"partition", "q"}, {"from", "a"}, {"to", "a_b"}, {"top", "1"}}).size(), 12U);
  for (const auto* top : {"1", "3", "100"}) {
    const auto in_p = found(index, {{"partition", "p"}, {"top", top}});
    EXPECT_EQ(std::set(in_p.begin(), in_p.end()).size(), 20U);
    EXPECT_EQ(in_p.size(), 20U);
  }
}

TEST_F(IndexLookup, GoesOnInAPartitionInTheOrderOfItsRows) {
  const auto index = IndexFixture::put("by-a", lists(R"("A")", kInPartition));
  // The first comes before the second in the order of rows, and behind it in UTF-8.
  for (const std::string value : {"\U0001F600", "\uFF21", "\uFF22"}) {
    put_list(index, value, {put("p", value, {{"A", value}})});
  }
  for (const auto* top : {"1", "2", "100"}) {
    EXPECT_THAT(found(index, {{"partition", "p"}, {"top", top}}), ElementsAre("p/\U0001F600", "p/\uFF21", "p/\uFF22"));
  }
}

TEST_F(IndexLookup, FindsCopies) {
  const auto index = IndexFixture::put("a", copies());
  const auto templates = *jobs::parse_key_templates("in_{Section}", "mail_{Mail}_{Number}");
  for (const std::string mail : {"jo@x", "joe@x", "k/%"}) {
    for (const std::int32_t number : {1, 2}) {
      const auto entity = put("p", mail.substr(0, 1) + mail.substr(mail.size() - 3, 1) + std::to_string(number),
                              {{"Section", std::string("s")}, {"Mail", mail}, {"Number", number}});
      const auto key = *jobs::apply_key_templates(templates, entity);
      put_row(index, key.partition_key, key.row_key, {}, {"", entity.partition_key, entity.row_key});
    }
  }
  EXPECT_THAT(found(index, {{"Section", "s"}, {"Mail", "joe@x"}, {"Number", "2"}}), ElementsAre("p/je2"));
  EXPECT_THAT(found(index, {{"Section", "s"}, {"Mail", "k/%"}}), ElementsAre("p/kk1", "p/kk2"));
  EXPECT_THAT(found(index, {{"Section", "s"}, {"prefix", "jo"}, {"top", "1"}}), ::testing::SizeIs(4));
  EXPECT_THAT(found(index, {{"Section", "s"}}), ::testing::SizeIs(6));
  put("p", "je2", {{"Section", std::string("t")}, {"Mail", std::string("joe@x")}, {"Number", std::int32_t{2}}});
  EXPECT_THAT(found(index, {{"Section", "s"}, {"Mail", "joe@x"}}), ElementsAre("p/je1"));
  EXPECT_EQ(left_out, 1U);
}

TEST_F(IndexLookup, FindsSummaries) {
  const auto index = IndexFixture::put(
      "a", defined(R"({"kind":"summary","source":"Source","by":["A"],"of":"N","destination":"Rows"})"));
  for (const std::string group : {"doc", "editors", "games"}) {
    GroupTotals totals;
    totals.count = 2;
    put_row(index, group, std::string(kSummaryRow), summary_properties(group, totals));
    put_row(index, group, "keys_ffffffffffffffff", {{"Keys", std::string("[]")}});
  }
  EXPECT_THAT(found(index, {{"value", "editors"}}), ElementsAre("editors/summary"));
  EXPECT_THAT(found(index, {{"value", "5"}, {"top", "1"}}), IsEmpty());
  EXPECT_THAT(found(index, {{"top", "1"}}), ElementsAre("doc/summary", "editors/summary", "games/summary"));
  EXPECT_THAT(found(index, {{"from", "e"}, {"to", "games"}}), ElementsAre("editors/summary", "games/summary"));
}

TEST_F(IndexLookup, RefusesAContinuationOfSomethingElse) {
  const auto index = IndexFixture::put("a", lists(R"("A")"));
  for (const std::string continuation : {"x", "W10=", "WzksImEiLCJhIiwiYSIsImEiXQ==", "WzAsMSwiYSIsImEiLCJhIl0="}) {
    const auto request = read_lookup(index.definition, {{"value", "x"}, {"continuation", continuation}});
    ASSERT_TRUE(request);
    EXPECT_TRUE(make_search({tables, listings, nullptr, clock}, index, *request)
                    .failed_with(ErrorCode::kInvalidQueryParameterValue));
  }
}

TEST_F(IndexLookup, WaitsForNoMoreThanItMust) {
  const auto index = IndexFixture::put("a", lists(R"("A")"));
  const auto definition = index.definition;
  Lookup lookup(tables, listings, nullptr, store, clock);
  const auto find = [&](Parameters parameters) {
    parameters.emplace_back("wait", "0");
    auto request = *read_lookup(definition, parameters);
    auto status = run_task(lookup.status(index.name));
    EXPECT_TRUE(status);
    return run_task(lookup.find(std::move(*status), std::move(request), [] { return false; }));
  };
  const auto version = [](const Entity& entity) { return to_iso8601(Time(Ticks(entity.version))); };
  auto written = put("p", "r", {{"A", std::string("x")}});
  EXPECT_EQ(find({{"value", "x"}})->status.state(), kBuilding);
  EXPECT_TRUE(find({{"value", "x"}, {"minVersion", version(written)}}).failed_with(ErrorCode::kDeadlineExceeded));
  ASSERT_TRUE(run_task(
      tables.follow("Source", {.follower = index.id, .properties = {"A"}}, false, std::nullopt, std::nullopt)));
  Progress progress;
  progress.state = kReady;
  ASSERT_TRUE(run_task(store.write_progress(index.id, progress, {index.id, 1, "", 0})));
  EXPECT_TRUE(find({{"value", "x"}, {"minVersion", version(written)}})) << "nothing waits";
  written = put("p", "r", {{"A", std::string("y")}});
  EXPECT_TRUE(find({{"value", "x"}, {"minVersion", version(written)}}).failed_with(ErrorCode::kDeadlineExceeded));
  EXPECT_TRUE(find({{"value", "x"}, {"maxLag", "1000"}}));
  clock.time += std::chrono::seconds(5);
  EXPECT_TRUE(find({{"value", "x"}, {"maxLag", "3"}}).failed_with(ErrorCode::kDeadlineExceeded));
  EXPECT_EQ(find({{"value", "x"}})->status.follower->changes_behind, 1U);
  ASSERT_TRUE(run_task(tables.acknowledge("Source", index.id, {{written.version}})));
  EXPECT_TRUE(find({{"value", "x"}, {"minVersion", version(written)}, {"maxLag", "0"}}));
  ASSERT_TRUE(run_task(store.ask("a", {.rebuild = true})));
  EXPECT_EQ(run_task(lookup.status("a"))->state(), kReady) << "a moment ago";
  clock.time += std::chrono::seconds(1);
  EXPECT_EQ(run_task(lookup.status("a"))->state(), kBuilding);
  clock.time += std::chrono::seconds(1);
  ASSERT_TRUE(run_task(store.forget(index)));
  EXPECT_TRUE(run_task(lookup.status("a")).failed_with(ErrorCode::kIndexNotFound));
  const auto next = IndexFixture::put("a", lists(R"("B")"));
  EXPECT_EQ(run_task(lookup.status("a"))->index.id, next.id) << "another of its name";
  EXPECT_EQ(run_task(lookup.status("a"))->position(), 0);
}

}  // namespace
}  // namespace tidemark::indexes
