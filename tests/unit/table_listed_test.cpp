// Rows that list entities, read with the listed entities and the proof of their freshness.
#include "table_changes_fixture.h"
#include "table_store/client/listing_client.h"
#include "tests/support/loopback.h"

namespace tidemark::table_store {
namespace {

struct TableListedTest : ChangesFixture {
  rpc::Loopback loopback{make_table_dispatch(*service)};
  TableClient client{loopback, "acct"};
  ListingClient listings{loopback, "acct"};

  void SetUp() override {
    create("People");
    create("Lists");
    create("State");
    for (const auto* row : {"a", "b", "c"}) put(row, "Rome");
    ASSERT_TRUE(follow(following_of("x")).has_value());
    list("1", R"([["p","a"],["p","b",5]])");
    list("2", R"([["p","nobody"],["p","c"]])");
    list("3", R"([["p","a"]])", "y");
    write("Lists", change(kInsert, "4", {text("Keys", R"([["p","a"]])")}));
    write("State", change(kInsert, "one", {text("Is", "ready")}));
  }
  void write(const std::string& table, Mutation mutation) {
    ASSERT_TRUE(run_task(client.mutate(table, "p", {std::move(mutation)}, std::nullopt)).has_value());
  }
  void list(const std::string& row, const std::string& keys, const std::string& maker = "x") {
    write("Lists", copy_of(row, ++version_, {text("Keys", keys)}, Origin{maker, "", ""}));
  }
  static ListedRequest request_for(std::uint32_t most = 100, bool all = true) {
    ListedRequest out;
    out.table = "lists";
    out.rows = {"p", "", ""};
    out.property = "Keys";
    out.follower = "x";
    out.entities = "people";
    out.most = most;
    out.all = all;
    out.beside = {"state", "p", "one"};
    return out;
  }
  /// Returns "row: entity entity, row: ..."; an entity has "+" if it is settled, and its City, "-" if it is not there.
  std::string find(ListedRequest request) {
    const auto page = run_task(listings.find_listed(std::move(request)));
    EXPECT_TRUE(page.has_value()) << page.error().message;
    if (!page) return {};
    std::string out;
    for (const auto& [row, listed] : page->rows) {
      out += (out.empty() ? "" : ", ") + row.row_key + ":";
      for (const auto& entity : listed) {
        out += entity.settled ? " +" : " ";
        if (!entity.now) {
          out += "-";
          continue;
        }
        EXPECT_GT(entity.now->version, 0);
        PropertyReader reader(block_in(page->blocks, *entity.now));
        EXPECT_TRUE(reader.next());
        out += std::get<std::string>(value_of(reader.value()));
      }
    }
    if (page->more) out += " ...";
    return out + (page->beside ? " beside" : "");
  }

  Version version_ = 0;
};

TEST_F(TableListedTest, RowsComeWithWhatTheyList) {
  EXPECT_EQ(find(request_for()), "1: +Rome +Rome, 2: +- +Rome beside");
  EXPECT_EQ(find(request_for(100, false)), "1: +- +-, 2: +- +- beside");
  EXPECT_EQ(find(request_for(2)), "1: +Rome +Rome ... beside");
  EXPECT_EQ(find(request_for(1)), "1: +Rome ... beside");
  EXPECT_EQ(find(request_for(3)), "1: +Rome +Rome, 2: +- ... beside");
  EXPECT_EQ(find(request_for(4)), "1: +Rome +Rome, 2: +- +Rome ... beside") << "a third row may follow";
  auto within = request_for();
  within.rows = {"p", "2", "4"};
  EXPECT_EQ(find(within), "2: +- +Rome beside");
  within.selection = {{"Nobody"}};
  within.beside.row_key = "nobody";
  within.entities = "nowhere";
  EXPECT_EQ(find(within), "2: - -") << "nobody follows what is not there";
}

TEST_F(TableListedTest, WhatHasChangedIsReadAndIsNotSettled) {
  put("b", "Bonn");
  ASSERT_TRUE(mutate(change(kErase, "c")).has_value());
  put("new", "Ulm");
  EXPECT_EQ(find(request_for(100, false)), "1: +- Bonn, 2: +- - beside");
  EXPECT_EQ(find(request_for()), "1: +Rome Bonn, 2: +- - beside");
  ASSERT_TRUE(acknowledge("x", read("x")->through).has_value());
  EXPECT_EQ(find(request_for()), "1: +Rome +Bonn, 2: +- +- beside");
}

TEST_F(TableListedTest, NothingIsSettledIfThatIsNotKnown) {
  auto of_nobody = request_for();
  of_nobody.rows = {"p", "3", "4"};
  of_nobody.follower = "y";
  EXPECT_EQ(find(of_nobody), "3: Rome beside") << "y does not follow the table";
  for (int i = 0; i <= 500; ++i) put("new", "Ulm");
  EXPECT_EQ(find(request_for(100, false)), "1: Rome Rome, 2: - Rome beside") << "too many changes wait";
  ASSERT_TRUE(acknowledge("x", read("x")->through).has_value());
  EXPECT_EQ(find(request_for(2)), "1: +Rome +Rome ... beside");
  ASSERT_TRUE(run_task(client.delete_table("people")).has_value());
  EXPECT_EQ(find(request_for()), "1: - -, 2: - - beside");
  create("people");
  EXPECT_EQ(find(request_for()), "1: - -, 2: - - beside");
}

TEST_F(TableListedTest, RowsOfOthersAreNotReadWithoutEnd) {
  for (int i = 0; i < 100; ++i) list("0" + std::to_string(i), "[]", "y");
  EXPECT_EQ(find(request_for()), " ... beside");
  list("00", R"([["p","a"]])");
  EXPECT_EQ(find(request_for()), " ... beside") << "the mark of another is not replaced";
}

TEST_F(TableListedTest, WhatIsNoListHasNoKeys) {
  for (const auto* text : {"", "{}", "[[]]", R"([["p"]])", R"([["p",1]])", R"([["p","a"],7])", "[["}) {
    list("2", text);
    EXPECT_EQ(find(request_for()), "1: +Rome +Rome, 2: beside") << text;
    list("2", "[]");
  }
}

TEST_F(TableListedTest, WhatIsNoRequestIsRefused) {
  const auto refused = [&](const std::function<void(ListedRequest&)>& spoil) {
    auto request = request_for();
    spoil(request);
    const auto page = run_task(listings.find_listed(std::move(request)));
    return page ? std::nullopt : std::optional(page.error().code);
  };
  EXPECT_EQ(refused([](auto& request) { request.most = 0; }), ErrorCode::kInvalidInput);
  EXPECT_EQ(refused([](auto& request) { request.most = kMaxListed + 1; }), ErrorCode::kInvalidInput);
  EXPECT_EQ(refused([](auto& request) { request.selection = {{"b", "a"}}; }), ErrorCode::kInvalidInput);
  EXPECT_EQ(refused([](auto& request) { request.rows.partition_key = "#"; }), ErrorCode::kOutOfRangeInput);
  EXPECT_EQ(refused([](auto& request) { request.beside.row_key = "#"; }), ErrorCode::kOutOfRangeInput);
  EXPECT_EQ(refused([](auto& request) { request.table = "nowhere"; }), ErrorCode::kTableNotFound);
}

}  // namespace
}  // namespace tidemark::table_store
