// Copies of entities, read together with the proof of their freshness.
#include "table_changes_fixture.h"
#include "table_store/client/listing_client.h"
#include "tests/support/loopback.h"

namespace tidemark::table_store {
namespace {

using Show = CopiesRequest::Show;

struct TableCopiesTest : ChangesFixture {
  rpc::Loopback loopback{make_table_dispatch(*service)};
  TableClient client{loopback, "acct"};
  ListingClient listings{loopback, "acct"};

  void SetUp() override {
    create("People");
    create("Copies");
    create("State");
    for (const auto* row : {"a", "b", "c"}) put(row, "Rome");
    ASSERT_TRUE(follow(following_of("x")).has_value());
    for (const auto* row : {"a", "b", "c", "nobody"}) copy(std::string("1") + row, row);
    copy("1other", "a", "y");
    write("Copies", change(kInsert, "1user", {text("City", "user")}));
    write("State", change(kInsert, "one", {text("Is", "ready")}));
  }
  void write(const std::string& table, Mutation mutation) {
    ASSERT_TRUE(run_task(client.mutate(table, "p", {std::move(mutation)}, std::nullopt)).has_value());
  }
  void copy(const std::string& row, const std::string& of, const std::string& maker = "x", std::string city = "copy") {
    write("Copies", copy_of(row, ++version_, {text("City", std::move(city))}, Origin{maker, "p", of}));
  }
  static CopiesRequest request_for(Show show, std::uint32_t most = 100) {
    CopiesRequest out;
    out.table = "copies";
    out.rows = {"p", "", ""};
    out.follower = "x";
    out.entities = "people";
    out.most = most;
    out.show = show;
    out.beside = {"state", "p", "one"};
    return out;
  }
  Result<CopiesPage> read(CopiesRequest request) { return run_task(listings.find_copies(std::move(request))); }
  /// Returns "row entity:city", with "+" if the copy is settled and "-" if nothing is shown, then where to go on.
  std::string find(CopiesRequest request) {
    const auto page = read(std::move(request));
    EXPECT_TRUE(page.has_value()) << page.error().message;
    if (!page) return {};
    std::string out;
    for (const auto& found : page->copies) {
      out += (out.empty() ? "" : ", ") + found.row_key + " " + found.of.row_key + (found.settled ? ":+" : ":");
      if (!found.shown) {
        out += "-";
        continue;
      }
      PropertyReader reader(block_in(page->blocks, *found.shown));
      if (reader.next()) out += std::get<std::string>(value_of(reader.value()));
    }
    if (!page->next.empty()) out += " ... " + page->next;
    return out + (page->beside ? " beside" : "");
  }

  Version version_ = 0;
};

TEST_F(TableCopiesTest, ComeAsTheyWereAskedFor) {
  EXPECT_EQ(find(request_for(Show::kCopies)), "1a a:+copy, 1b b:+copy, 1c c:+copy, 1nobody nobody:+copy beside");
  EXPECT_EQ(find(request_for(Show::kEntities)), "1a a:+Rome, 1b b:+Rome, 1c c:+Rome, 1nobody nobody:+- beside");
  EXPECT_EQ(find(request_for(Show::kKeys)), "1a a:+-, 1b b:+-, 1c c:+-, 1nobody nobody:+- beside");
  EXPECT_EQ(find(request_for(Show::kCopies, 2)), "1a a:+copy, 1b b:+copy ... 1c beside");
  EXPECT_EQ(find(request_for(Show::kCopies, 4)),
            "1a a:+copy, 1b b:+copy, 1c c:+copy, 1nobody nobody:+copy ... 1other beside")
      << "whose that is was not looked at";
  auto within = request_for(Show::kCopies);
  within.rows = {"p", "1b", "1c"};
  within.beside.row_key = "nobody";
  EXPECT_EQ(find(within), "1b b:+copy");
  within.selection = {{"Nobody"}};
  EXPECT_EQ(find(within), "1b b:+");
}

TEST_F(TableCopiesTest, HaveTheVersionOfWhatTheyShow) {
  const auto copies = read(request_for(Show::kCopies));
  const auto entities = read(request_for(Show::kEntities));
  ASSERT_TRUE(copies.has_value() && entities.has_value());
  EXPECT_EQ(copies->copies[0].shown->version, 1);
  EXPECT_EQ(entities->copies[0].shown->version, get("a")->version);
}

TEST_F(TableCopiesTest, WhatHasChangedIsShownAsItIs) {
  put("b", "Bonn");
  ASSERT_TRUE(mutate(change(kErase, "c")).has_value());
  put("new", "Ulm");
  EXPECT_EQ(find(request_for(Show::kCopies)), "1a a:+copy, 1b b:Bonn, 1c c:-, 1nobody nobody:+copy beside");
  EXPECT_EQ(find(request_for(Show::kKeys)), "1a a:+-, 1b b:Bonn, 1c c:-, 1nobody nobody:+- beside");
  ASSERT_TRUE(acknowledge("x", ChangesFixture::read("x")->through).has_value());
  EXPECT_EQ(find(request_for(Show::kCopies)), "1a a:+copy, 1b b:+copy, 1c c:+copy, 1nobody nobody:+copy beside");
  ASSERT_TRUE(run_task(client.delete_table("people")).has_value());
  EXPECT_EQ(find(request_for(Show::kCopies)), "1a a:-, 1b b:-, 1c c:-, 1nobody nobody:- beside");
}

TEST_F(TableCopiesTest, AnAnswerHoldsWhatThereIsRoomFor) {
  const std::string large(30'000, 'x');
  for (int i = 100; i < 300; ++i) {
    const auto row = std::to_string(i);
    put(row, large);
    copy("2" + row, row, "x", large);
  }
  ASSERT_TRUE(follow(following_of("x"), true).has_value());  // it has handled all of them
  for (const auto show : {Show::kCopies, Show::kEntities}) {
    std::size_t found = 0;
    std::size_t calls = 0;
    auto request = request_for(show, 1000);
    request.rows.from = "2";
    for (; calls == 0 || !request.rows.from.empty(); ++calls) {
      const auto page = read(request);
      ASSERT_TRUE(page.has_value());
      ASSERT_FALSE(page->copies.empty());
      EXPECT_LT(page->blocks.size(), std::size_t{5} << 20);
      for (const auto& copy : page->copies) EXPECT_EQ(copy.shown->bytes, page->copies.front().shown->bytes);
      found += page->copies.size();
      request.rows.from = page->next;
    }
    EXPECT_EQ(found, 200U);
    EXPECT_EQ(calls, 2U);
  }
}

TEST_F(TableCopiesTest, RowsOfOthersAreNotReadWithoutEnd) {
  for (int i = 1000; i < 2010; ++i) copy("0" + std::to_string(i), "a", "y");
  EXPECT_EQ(find(request_for(Show::kKeys)), " ... 02000 beside");
  auto rest = request_for(Show::kKeys, 1);
  rest.rows.from = "02000";
  EXPECT_EQ(find(rest), "1a a:+- ... 1b beside");
}

TEST_F(TableCopiesTest, WhatIsNoRequestIsRefused) {
  const auto refused = [&](const std::function<void(CopiesRequest&)>& spoil) {
    auto request = request_for(Show::kCopies);
    spoil(request);
    const auto page = read(std::move(request));
    return page ? std::nullopt : std::optional(page.error().code);
  };
  EXPECT_EQ(refused([](auto& request) { request.most = 0; }), ErrorCode::kInvalidInput);
  EXPECT_EQ(refused([](auto& request) { request.most = kMaxListed + 1; }), ErrorCode::kInvalidInput);
  EXPECT_EQ(refused([](auto& request) { request.show = {}; }), ErrorCode::kInvalidInput);
  EXPECT_EQ(refused([](auto& request) { request.selection = {{"b", "a"}}; }), ErrorCode::kInvalidInput);
  EXPECT_EQ(refused([](auto& request) { request.rows.partition_key = "#"; }), ErrorCode::kOutOfRangeInput);
  EXPECT_EQ(refused([](auto& request) { request.beside.row_key = "#"; }), ErrorCode::kOutOfRangeInput);
  EXPECT_EQ(refused([](auto& request) { request.table = "nowhere"; }), ErrorCode::kTableNotFound);
}

}  // namespace
}  // namespace tidemark::table_store
