// Every limit of the protocol, at the limit and one over, with its error code.
#include "table_rest_fixture.h"

namespace tidemark::table_store {
namespace {

using TableLimits = TableRestFixture;

std::string repeat(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

std::string entity(const std::string& rest, const std::string& row = "r", const std::string& partition = "p") {
  return R"({"PartitionKey":")" + partition + R"(","RowKey":")" + row + "\"" + (rest.empty() ? "" : ",") + rest + "}";
}

std::string properties(std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += (i == 0 ? "" : ",") + ("\"n" + std::to_string(i)) + "\":1";
  return out;
}

struct Entities : TableRestFixture {
  void SetUp() override {
    TableRestFixture::SetUp();
    make_table();
  }
  std::string upsert(const std::string& rest, const std::string& row = "r", const std::string& partition = "p") {
    const auto answer = call("PUT", one(row, partition), entity(rest, row, partition));
    return answer.status == 204 ? "" : std::to_string(answer.status) + " " + answer.code();
  }
};

TEST_F(Entities, TwoHundredAndFiftyTwoProperties) {
  EXPECT_EQ(upsert(properties(252)), "");
  EXPECT_EQ(upsert(properties(253)), "400 TooManyProperties");
  // Nor can merging exceed it.
  EXPECT_EQ(call("PATCH", one("r"), R"({"one_more":1})").code(), "TooManyProperties");
  EXPECT_EQ(call("PATCH", one("r"), R"({"n0":2})").status, 204U);
}

TEST_F(Entities, StringsOfSixtyFourKibibytes) {
  EXPECT_EQ(upsert("\"s\":\"" + std::string(32 * 1024, 'x') + "\""), "");
  EXPECT_EQ(upsert("\"s\":\"" + std::string(32 * 1024 + 1, 'x') + "\""), "400 PropertyValueTooLarge");
  // Counted in UTF-16: one character beyond the basic plane is two.
  EXPECT_EQ(upsert("\"s\":\"" + repeat("\xF0\x9F\x98\x80", 16 * 1024) + "\""), "");
  EXPECT_EQ(upsert("\"s\":\"" + repeat("\xF0\x9F\x98\x80", 16 * 1024) + "x\""), "400 PropertyValueTooLarge");
}

TEST_F(Entities, BinariesOfSixtyFourKibibytes) {
  const auto binary = [](std::size_t size) {
    return R"("x@odata.type":"Edm.Binary","x":")" + base64_encode(std::string(size, '\1')) + "\"";
  };
  EXPECT_EQ(upsert(binary(64 * 1024)), "");
  EXPECT_EQ(upsert(binary(64 * 1024 + 1)), "400 PropertyValueTooLarge");
}

TEST_F(Entities, OneMebibyte) {
  // 4 + 2*2 for the keys; each string 8 + 2*1 (name) + 4 + 2*length.
  const std::size_t whole = 15 * (14 + 64 * 1024);
  const std::size_t rest = 1024 * 1024 - 8 - whole - 14;
  ASSERT_EQ(rest % 2, 0U);
  std::string json;
  for (char name = 'a'; name < 'p'; ++name) {
    json += "\"" + std::string(1, name) + "\":\"" + std::string(32 * 1024, 'x') + "\",";
  }
  EXPECT_EQ(upsert(json + "\"z\":\"" + std::string(rest / 2, 'x') + "\""), "");
  EXPECT_EQ(upsert(json + "\"z\":\"" + std::string(rest / 2 + 1, 'x') + "\""), "400 EntityTooLarge");
  EXPECT_EQ(call("PATCH", one("r"), R"({"one":1})").code(), "EntityTooLarge");
}

TEST_F(Entities, KeysOfOneKibibyte) {
  const std::string longest(512, 'k');
  EXPECT_EQ(upsert("", longest, longest), "");
  EXPECT_EQ(upsert("", longest + "k"), "400 OutOfRangeInput");
  EXPECT_EQ(upsert("", "r", longest + "k"), "400 OutOfRangeInput");
  EXPECT_EQ(insert(entity("", longest + "k")).code(), "OutOfRangeInput");
}

TEST_F(Entities, ForbiddenKeyCharacters) {
  for (const std::string wrong :
       {"/", "\\\\", "#", "?", "\\u0000", "\\u001f", "\\u007f", "\\u0080", "\\u009f", "\\t"}) {
    EXPECT_EQ(insert(entity("", wrong)).code(), "OutOfRangeInput") << wrong;
    EXPECT_EQ(insert(entity("", "r", wrong)).code(), "OutOfRangeInput") << wrong;
  }
  for (const std::string right : {"\\u00a0", " ", "%", "~"}) EXPECT_EQ(insert(entity("", right)).status, 201U) << right;
}

TEST_F(Entities, PropertyNames) {
  EXPECT_EQ(upsert("\"" + std::string(255, 'n') + "\":1"), "");
  EXPECT_EQ(upsert("\"" + std::string(256, 'n') + "\":1"), "400 PropertyNameTooLong");
  for (const char* wrong : {"a-b", "1a", "a b", "", "a.b"}) {
    EXPECT_EQ(upsert("\"" + std::string(wrong) + "\":1"), "400 PropertyNameInvalid") << wrong;
  }
  EXPECT_EQ(upsert("\"_a1\":1,\"h\xC3\xA9\":2"), "");
}

TEST_F(TableLimits, TableNames) {
  const auto create = [&](const std::string& name) {
    return call("POST", "Tables", "{\"TableName\":\"" + name + "\"}").code();
  };
  EXPECT_EQ(create("abc"), "");
  EXPECT_EQ(create("ab"), "OutOfRangeInput");
  EXPECT_EQ(create(std::string(63, 'a')), "");
  EXPECT_EQ(create(std::string(64, 'a')), "OutOfRangeInput");
  for (const char* wrong : {"1ab", "a-bc", "tables", "Tables", "a_b", "h\xC3\xA9llo"}) {
    EXPECT_EQ(create(wrong), "InvalidResourceName") << wrong;
  }
  EXPECT_EQ(call("POST", "Tables", "{}").code(), "PropertiesNeedValue");
}

TEST_F(TableLimits, BodiesOfFourMebibytes) {
  make_table();
  const std::string small = entity("");
  // Blanks behind the object are JSON too.
  EXPECT_EQ(insert(small + std::string((4UL << 20) - small.size(), ' ')).status, 201U);
  const auto over = insert(small + std::string((4UL << 20) - small.size() + 1, ' '));
  EXPECT_EQ(over.status, 413U);
  EXPECT_EQ(over.code(), "RequestBodyTooLarge");
}

TEST_F(TableLimits, FiveAccessPolicies) {
  make_table();
  std::string five;
  for (int i = 0; i < 5; ++i) {
    five += "<SignedIdentifier><Id>p" + std::to_string(i) + "</Id></SignedIdentifier>";
  }
  const auto set = [&](const std::string& identifiers) {
    return call("PUT", "people?comp=acl", "<SignedIdentifiers>" + identifiers + "</SignedIdentifiers>");
  };
  EXPECT_EQ(set(five).status, 204U);
  const auto six = set(five + "<SignedIdentifier><Id>p5</Id></SignedIdentifier>");
  EXPECT_EQ(six.status, 400U);
  EXPECT_THAT(six.body, testing::HasSubstr("<m:code>InvalidXmlDocument</m:code>"));
  EXPECT_EQ(six.header("Content-Type"), "application/xml");
  EXPECT_EQ(set("<SignedIdentifier><Id>" + std::string(64, 'i') + "</Id></SignedIdentifier>").status, 204U);
  EXPECT_EQ(set("<SignedIdentifier><Id>" + std::string(65, 'i') + "</Id></SignedIdentifier>").status, 400U);
}

TEST_F(TableLimits, PagesOfAThousandEntities) {
  make_table();
  for (int batch = 0; batch < 11; ++batch) {
    std::vector<Mutation> rows;
    for (int i = 0; i < 100; ++i) {
      if (batch == 10 && i > 0) break;
      rows.push_back(change(MutationKind::kInsert, std::to_string(10000 + batch * 100 + i)));
    }
    auto done = run_task(service->mutate(kAccount, "people", "p", std::move(rows), std::optional<Fence>{}));
    ASSERT_TRUE(done.has_value());
  }
  const auto page = call("GET", "people()?$select=RowKey", {}, {{"Accept", "application/json;odata=nometadata"}});
  EXPECT_EQ(std::count(page.body.begin(), page.body.end(), '{'), 1001);
  EXPECT_NE(page.header("x-ms-continuation-NextPartitionKey"), "");
}

TEST_F(TableLimits, PagesOfFourMebibytes) {
  make_table();
  // Control characters take six bytes each in JSON: twelve entities are about 4.7 MiB of text.
  const std::string text(32 * 1024, '\1');
  for (int i = 0; i < 24; ++i) {
    std::vector<Mutation> rows = {change(MutationKind::kInsert, std::to_string(100 + i), {{"s", text}})};
    auto done = run_task(service->mutate(kAccount, "people", "p", std::move(rows), std::optional<Fence>{}));
    ASSERT_TRUE(done.has_value());
  }
  std::string from;
  int pages = 0;
  std::string rows;
  for (bool more = true; more; ++pages) {
    const auto page = call("GET", "people()" + from, {}, {{"Accept", "application/json;odata=nometadata"}});
    ASSERT_EQ(page.status, 200U);
    EXPECT_LE(page.body.size(), 4UL << 20);
    for (std::size_t at = 0; (at = page.body.find("\"RowKey\":\"", at)) != std::string::npos; ++at) {
      rows += page.body.substr(at + 10, 3);
    }
    more = !page.header("x-ms-continuation-NextPartitionKey").empty();
    from = "?NextPartitionKey=" + page.header("x-ms-continuation-NextPartitionKey") +
           "&NextRowKey=" + page.header("x-ms-continuation-NextRowKey");
  }
  EXPECT_EQ(pages, 2);
  std::string expected;
  for (int i = 0; i < 24; ++i) expected += std::to_string(100 + i);
  EXPECT_EQ(rows, expected);
}

}  // namespace
}  // namespace tidemark::table_store
