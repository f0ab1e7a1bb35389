// Lookups by copies that need not read the entities, because the log proves that the copies equal them.
#include <gmock/gmock.h>

#include <map>

#include "common/base/encoding.h"
#include "jobs/spec/key_template.h"
#include "jobs/store/rows.h"
#include "tests/unit/index_proof_fixture.h"

namespace tidemark::indexes {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

/// The copies are marked as copies, so that a test can tell which of the two it was shown.
struct ProvenCopies : IndexProof {
  void SetUp() override {
    IndexLookup::SetUp();
    declare("");
    for (int i = 0; i < 5; ++i) members.push_back(put("p", "r" + std::to_string(i), of("x", "entity")));
    for (const auto& member : members) copy(member);
    acknowledge();
    become(kReady);
    note_calls();
  }
  void declare(const std::string& more) {
    index =
        IndexFixture::put("copies" + std::to_string(++declared),
                          defined(R"({"kind":"copies","source":"Source","destination":"Rows","partitionKey":"in_{A}",)"
                                  R"("rowKey":"{RowKey}")" +
                                  more + "}"));
    begin();
  }
  static std::vector<Property> of(const std::string& a, const std::string& is) {
    return {{"A", a}, {"Is", is}, {"Other", std::string("o")}};
  }
  void copy(const Entity& entity, std::vector<Property> properties = of("x", "copy")) {
    auto mutation = jobs::copy_of(entity.row_key, entity.version, std::move(properties));
    mutation.origin = {index.id, entity.partition_key, entity.row_key};
    write("Rows", "in_x", std::move(mutation));
  }

  struct Shown {
    std::string what;
    table_store::Version version = 0;
  };
  /// Returns the property Is of the found entities, by RowKey. All pages.
  std::map<std::string, Shown> look_up(const std::string& select = "entities", const std::string& top = "100") {
    calls.clear();
    std::map<std::string, Shown> out;
    left_out = 0;
    std::string continuation;
    do {
      Parameters given{{"A", "x"}, {"select", select}, {"top", top}};
      if (!continuation.empty()) given.emplace_back("continuation", continuation);
      auto search = make_search({tables, listings, nullptr, clock}, index, *read_lookup(index.definition, given));
      EXPECT_TRUE(search);
      auto page = run_task((*search)->run());
      EXPECT_TRUE(page);
      if (!page) break;
      for (const auto& found : page->entities) {
        EXPECT_EQ(found.partition_key, "p");
        table_store::EntityView view;
        view.block = found.block;
        const auto entity = found.block.empty() ? Entity{} : view.to_entity();
        const auto* is = entity.find("Is");
        EXPECT_TRUE(out.emplace(found.row_key, Shown{is ? std::get<std::string>(*is) : "", found.version}).second);
      }
      left_out += page->left_out;
      continuation = page->continuation;
    } while (!continuation.empty());
    return out;
  }
  /// Returns "row:what" for each entity, where "what" tells whether the copy or the entity was shown.
  std::vector<std::string> shown(const std::string& select = "entities", const std::string& top = "100") {
    std::vector<std::string> out;
    for (const auto& [row, found] : look_up(select, top)) out.push_back(row + ":" + found.what);
    return out;
  }
  void expect_shown(const std::vector<std::string>& wanted, std::uint64_t wanted_left_out) {
    for (const auto* top : {"1", "2", "100"}) {
      EXPECT_THAT(shown("entities", top), UnorderedElementsAreArray(wanted)) << top;
      EXPECT_EQ(left_out, wanted_left_out) << top;
      EXPECT_EQ(look_up("keys", top).size(), wanted.size()) << top;
      EXPECT_EQ(left_out, wanted_left_out) << top;
    }
  }

  std::vector<Entity> members;
  int declared = 0;
};

TEST_F(ProvenCopies, AreShownWithoutReadingTheEntities) {
  expect_shown({"r0:copy", "r1:copy", "r2:copy", "r3:copy", "r4:copy"}, 0);
  for (const auto* select : {"keys", "entities", "Is"}) {
    const auto found = look_up(select);
    EXPECT_THAT(calls, ElementsAre("table.find_copies")) << select;
    ASSERT_EQ(found.size(), 5U) << select;
    if (std::string_view(select) == "keys") continue;
    for (const auto& member : members) EXPECT_EQ(found.at(member.row_key).version, member.version) << select;
  }
}

TEST_F(ProvenCopies, WhatHasChangedIsReadAndCompared) {
  put("p", "r0", of("y", "entity"));
  erase("r1");
  put("p", "r2", of("x", "entity"));
  expect_shown({"r2:entity", "r3:copy", "r4:copy"}, 2);
  const auto now = **run_task(tables.get("Source", "p", "r2"));
  EXPECT_EQ(look_up().at("r2").version, now.version);
  // The rows follow; only then does the owner acknowledge.
  copy(now);
  expect_shown({"r2:entity", "r3:copy", "r4:copy"}, 2);
  acknowledge();
  const auto found = look_up();
  EXPECT_EQ(found.at("r2").what, "copy");
  EXPECT_EQ(found.at("r2").version, now.version);
}

TEST_F(ProvenCopies, AreNotTrustedUnlessTheIndexIsReady) {
  put("p", "r0", of("y", "entity"));
  erase("r1");
  for (const auto state : {kStale, kBuilding, kVerifying}) {
    become(state);
    begin();
    expect_shown({"r2:entity", "r3:entity", "r4:entity"}, 2);
  }
}

TEST_F(ProvenCopies, AreNotTrustedWithoutALog) {
  put("p", "r0", of("y", "entity"));
  ASSERT_TRUE(run_task(tables.unfollow("Source", index.id)));
  expect_shown({"r1:entity", "r2:entity", "r3:entity", "r4:entity"}, 1);
}

TEST_F(ProvenCopies, OfATableThatWasDroppedShowNothing) {
  ASSERT_TRUE(run_task(tables.delete_table("Source")));
  expect_shown({}, 5);
  ASSERT_TRUE(run_task(tables.create_table("Source")));
  put("p", "r4", of("x", "entity"));
  expect_shown({"r4:entity"}, 4);
}

TEST_F(ProvenCopies, OfOthersAreLeftAlone) {
  write("Rows", "in_x", table_store::change(table_store::MutationKind::kInsert, "r0", of("x", "of a user")));
  expect_shown({"r1:copy", "r2:copy", "r3:copy", "r4:copy"}, 0);
}

TEST_F(ProvenCopies, ThatHaveNotWhatIsAskedForAreNotShown) {
  declare(R"(,"filter":"Other eq 'o'","properties":["Is"])");
  for (const auto& member : members) {
    const auto away = table_store::change(table_store::MutationKind::kErase, member.row_key);
    ASSERT_TRUE(run_task(tables.mutate("Rows", "in_x", {away}, std::nullopt)));
    copy(member, {{"Is", std::string("copy")}});
  }
  acknowledge();
  become(kReady);
  note_calls();
  EXPECT_EQ(look_up("Is").at("r0").what, "copy");
  EXPECT_EQ(look_up("Is,PartitionKey,Timestamp").at("r0").what, "copy");
  EXPECT_EQ(look_up("Is,Other").at("r0").what, "entity");
  EXPECT_EQ(look_up().at("r0").what, "entity");
  put("p", "r0", {{"A", std::string("x")}, {"Is", std::string("entity")}, {"Other", std::string("p")}});
  EXPECT_FALSE(look_up("Is").contains("r0")) << "its filter leaves it out";
  EXPECT_EQ(left_out, 1U);
}

TEST_F(ProvenCopies, AreReadOnOnlyWithinWhatIsAskedFor) {
  const auto refused = [this](const std::string& continuation) {
    const auto request = *read_lookup(index.definition, {{"A", "x"}, {"RowKey", "r1"}, {"continuation", continuation}});
    const auto search = make_search({tables, listings, nullptr, clock}, index, request);
    return search.failed_with(ErrorCode::kInvalidQueryParameterValue);
  };
  EXPECT_FALSE(refused(base64_encode("rr1")));
  for (const std::string text : {"r", "rr0", "rr2", "r1", "rr1\xFF"}) EXPECT_TRUE(refused(base64_encode(text))) << text;
  EXPECT_TRUE(refused("?"));
}

/// Copies whose keys begin alike, or are the same for several values.
struct AmbiguousCopies : IndexProof {
  void declare(const std::string& row_key, const std::string& more = "") {
    const auto text = R"({"kind":"copies","source":"Source","destination":"Rows","partitionKey":"all","rowKey":")" +
                      row_key + "\"" + more + "}";
    index = IndexFixture::put("copies" + std::to_string(++declared), defined(text));
    begin();
  }
  void have(const std::string& row, const std::string& a, const std::string& b) {
    const auto entity = put("p", row, {{"A", a}, {"B", b}});
    const auto& kind = std::get<CopiesKind>(index.definition.kind);
    const auto place = *jobs::apply_key_templates(*jobs::parse_key_templates("all", kind.row_key), entity);
    auto properties = entity.properties;
    std::erase_if(properties, [&](const Property& property) {
      return kind.properties && std::ranges::find(*kind.properties, property.name) == kind.properties->end();
    });
    auto mutation = jobs::copy_of(place.row_key, entity.version, std::move(properties));
    mutation.origin = {index.id, "p", row};
    write("Rows", "all", std::move(mutation));
  }
  /// Returns the RowKeys, with any selection, and whether the index is ready or not.
  std::vector<std::string> found(const Parameters& given) {
    std::vector<std::string> out;
    for (const auto state : {kReady, kBuilding}) {
      become(state);
      for (const auto* select : {"entities", "keys", "A"}) {
        auto parameters = given;
        parameters.emplace_back("select", select);
        auto search =
            make_search({tables, listings, nullptr, clock}, index, *read_lookup(index.definition, parameters));
        EXPECT_TRUE(search);
        const auto page = run_task((*search)->run());
        EXPECT_TRUE(page);
        std::vector<std::string> rows;
        for (const auto& entity : page->entities) rows.push_back(entity.row_key);
        if (state == kReady && select == std::string_view("entities")) out = rows;
        EXPECT_EQ(rows, out) << state << " " << select;
        EXPECT_EQ(page->left_out, 0U);
      }
    }
    return out;
  }
  int declared = 0;
};

TEST_F(AmbiguousCopies, AreToldApartByTheKeysOfTheEntities) {
  declare("{A}_{RowKey}", R"(,"properties":["C"])");
  have("1", "web", "");
  have("2", "web_1", "");
  acknowledge();
  EXPECT_THAT(found({{"A", "web"}}), ElementsAre("1"));
  EXPECT_THAT(found({{"A", "web_1"}}), ElementsAre("2"));
  EXPECT_THAT(found({{"A", "web"}, {"RowKey", "1"}}), ElementsAre("1"));
  EXPECT_THAT(found({{"A", "web"}, {"RowKey", "1_2"}}), IsEmpty());
  EXPECT_THAT(found({{"A", "web"}, {"prefix", "1"}}), ElementsAre("1"));
  EXPECT_THAT(found({{"prefix", "we"}}), ElementsAre("1", "2"));
  become(kReady);
  note_calls();
  auto search = make_search({tables, listings, nullptr, clock}, index,
                            *read_lookup(index.definition, {{"A", "web"}, {"select", "keys"}}));
  ASSERT_TRUE(run_task((*search)->run()));
  EXPECT_THAT(calls, ElementsAre("table.find_copies"));
}

TEST_F(AmbiguousCopies, AreToldApartByWhatTheyOrTheEntitiesHave) {
  for (const std::string more :
       {"", R"(,"properties":["A","B"])", R"(,"properties":["A"])", R"(,"properties":["C"])"}) {
    declare("{A}_{B}", more);
    have("1", "x", "y_z");
    have("2", "x_y", "");
    acknowledge();
    EXPECT_THAT(found({{"A", "x"}}), ElementsAre("1")) << more;
    EXPECT_THAT(found({{"A", "x_y"}}), ElementsAre("2")) << more;
    EXPECT_THAT(found({{"A", "x"}, {"B", "y_z"}}), ElementsAre("1")) << more;
    EXPECT_THAT(found({{"A", "x_y"}, {"B", "z"}}), IsEmpty()) << more;
    EXPECT_THAT(found({{"A", "x"}, {"prefix", "y"}}), ElementsAre("1")) << more;
    EXPECT_THAT(found({{"A", "x_y"}, {"prefix", "z"}}), IsEmpty()) << more;
    for (const auto& row : {"x_y_", "x_y_z"}) {
      const auto away = table_store::change(table_store::MutationKind::kErase, row);
      ASSERT_TRUE(run_task(tables.mutate("Rows", "all", {away}, std::nullopt)));
    }
  }
}

TEST_F(ProvenCopies, WhereNoKeyCanBeFindNothing) {
  const auto request = *read_lookup(index.definition, {{"A", std::string(2000, 'a')}});
  auto search = make_search({tables, listings, nullptr, clock}, index, request);
  EXPECT_THAT(run_task((*search)->run())->entities, IsEmpty());
}

}  // namespace
}  // namespace tidemark::indexes
