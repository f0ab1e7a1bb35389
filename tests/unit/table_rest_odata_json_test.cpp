#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "table_store/odata/odata_json.h"

namespace tidemark::table_store {
namespace {

// The body that the JavaScript client sends, byte for byte.
constexpr std::string_view kTypes =
    R"({"PartitionKey":"pk one","RowKey":"it's & 1","s":"héllo","b":true,"i":42,"i64":"1234567890123","i64@odata.type":"Edm.Int64","nan":"NaN","nan@odata.type":"Edm.Double","inf":"-Infinity","inf@odata.type":"Edm.Double","d15":1.5,"d2":2,"d2@odata.type":"Edm.Double","dt":"2024-02-03T04:05:06.789Z","dt@odata.type":"Edm.DateTime","dt2":"2024-02-03T04:05:06.1234567Z","dt2@odata.type":"Edm.DateTime","g":"0d391d16-97f1-4b9a-be68-4cc871f90001","g@odata.type":"Edm.Guid","bin":"AQID/w==","bin@odata.type":"Edm.Binary","nul":null})";

Entity entity_from(std::string_view json, const char* time = "2026-11-21T12:09:13.1864608Z") {
  auto body = parse_entity_json(json);
  EXPECT_TRUE(body);
  Entity entity;
  if (!body) return entity;
  entity.partition_key = body->partition_key.value_or("");
  entity.row_key = body->row_key.value_or("");
  entity.version = parse_iso8601(time)->time_since_epoch().count();
  entity.properties = std::move(body->properties);
  return entity;
}

std::string answer(const Entity& entity, MetadataLevel level, const std::vector<std::string>* select = nullptr) {
  std::string out;
  const auto block = property_block(entity.properties);
  append_entity_answer(out, {"http://127.0.0.1:22002/devstoreaccount1", "devstoreaccount1", "Types1", level, select},
                       {entity.partition_key, entity.row_key, entity.version, {}, block});
  return out;
}

Value value_of(std::string_view member) {
  auto body = parse_entity_json("{" + std::string(member) + "}");
  EXPECT_TRUE(body) << member;
  if (!body || body->properties.size() != 1) return Value{std::string("<none>")};
  return body->properties[0].value;
}

TEST(ODataJson, AnswersMinimalMetadataAsRecorded) {
  EXPECT_EQ(
      answer(entity_from(kTypes), MetadataLevel::kMinimal),
      R"({"odata.metadata":"http://127.0.0.1:22002/devstoreaccount1/$metadata#Types1/@Element","odata.etag":"W/\"datetime'2026-11-21T12%3A09%3A13.1864608Z'\"","PartitionKey":"pk one","RowKey":"it's & 1","Timestamp":"2026-11-21T12:09:13.1864608Z","s":"héllo","b":true,"i":42,"i64@odata.type":"Edm.Int64","i64":"1234567890123","nan@odata.type":"Edm.Double","nan":"NaN","inf@odata.type":"Edm.Double","inf":"-Infinity","d15":1.5,"d2":2.0,"dt@odata.type":"Edm.DateTime","dt":"2024-02-03T04:05:06.789Z","dt2@odata.type":"Edm.DateTime","dt2":"2024-02-03T04:05:06.1234567Z","g@odata.type":"Edm.Guid","g":"0d391d16-97f1-4b9a-be68-4cc871f90001","bin@odata.type":"Edm.Binary","bin":"AQID/w=="})");
}

TEST(ODataJson, NoMetadataHasValuesOnly) {
  auto entity = entity_from(R"({"PartitionKey":"p","RowKey":"r","n":"5","n@odata.type":"Edm.Int64"})");
  EXPECT_EQ(answer(entity, MetadataLevel::kNone),
            R"({"PartitionKey":"p","RowKey":"r","Timestamp":"2026-11-21T12:09:13.1864608Z","n":"5"})");
}

TEST(ODataJson, FullMetadataNamesTheEntity) {
  auto entity = entity_from(R"({"PartitionKey":"p","RowKey":"r"})");
  EXPECT_EQ(answer(entity, MetadataLevel::kFull),
            R"({"odata.metadata":"http://127.0.0.1:22002/devstoreaccount1/$metadata#Types1/@Element",)"
            R"("odata.type":"devstoreaccount1.Types1",)"
            R"~("odata.id":"http://127.0.0.1:22002/devstoreaccount1/Types1(PartitionKey='p',RowKey='r')",)~"
            R"("odata.etag":"W/\"datetime'2026-11-21T12%3A09%3A13.1864608Z'\"",)"
            R"~("odata.editLink":"Types1(PartitionKey='p',RowKey='r')","PartitionKey":"p","RowKey":"r",)~"
            R"("Timestamp@odata.type":"Edm.DateTime","Timestamp":"2026-11-21T12:09:13.1864608Z"})");
}

TEST(ODataJson, SelectKeepsTheETagAndAnnotations) {
  std::vector<std::string> select{"i64", "absent"};
  EXPECT_EQ(
      answer(entity_from(kTypes), MetadataLevel::kMinimal, &select),
      R"({"odata.metadata":"http://127.0.0.1:22002/devstoreaccount1/$metadata#Types1/@Element","odata.etag":"W/\"datetime'2026-11-21T12%3A09%3A13.1864608Z'\"","i64@odata.type":"Edm.Int64","i64":"1234567890123"})");
}

TEST(ODataJson, UntypedNumbersAreInt32OrDouble) {
  EXPECT_EQ(value_of(R"("n":2147483647)"), Value{std::int32_t{2147483647}});
  EXPECT_EQ(value_of(R"("n":-2147483648)"), Value{std::numeric_limits<std::int32_t>::min()});
  EXPECT_EQ(value_of(R"("n":2147483648)"), Value{2147483648.0});
  EXPECT_EQ(value_of(R"("n":100000000000000000000)"), Value{1e20});
  EXPECT_EQ(value_of(R"("n":5.0)"), Value{5.0});
  EXPECT_EQ(value_of(R"("n":1e3)"), Value{1000.0});
}

TEST(ODataJson, AnnotationsDecideAndMayStandBefore) {
  EXPECT_EQ(value_of(R"("n@odata.type":"Edm.Int64","n":"-9223372036854775808")"),
            Value{std::numeric_limits<std::int64_t>::min()});
  EXPECT_EQ(value_of(R"("n":7,"n@odata.type":"Edm.Int64")"), Value{std::int64_t{7}});
  EXPECT_EQ(value_of(R"("n":5,"n@odata.type":"Edm.Double")"), Value{5.0});
  EXPECT_EQ(value_of(R"("n":"NaN")"), Value{std::string("NaN")});
  EXPECT_EQ(value_of(R"("n":"2020-01-01T03:02:00+02:00","n@odata.type":"Edm.DateTime")"),
            Value{*parse_iso8601("2020-01-01T01:02:00Z")});
  EXPECT_EQ(value_of(R"("n":"2020-01-01T01:02:00.123456789Z","n@odata.type":"Edm.DateTime")"),
            Value{*parse_iso8601("2020-01-01T01:02:00.1234568Z")});
  EXPECT_EQ(value_of("\"s\":\"a\\u0041\\n\\\"\""), Value{std::string("aA\n\"")});
}

TEST(ODataJson, IgnoresWhatTheServerOwns) {
  auto body = parse_entity_json(
      R"({"odata.etag":"W/\"x\"","odata.metadata":"y","PartitionKey":"p","PartitionKey@odata.type":"Edm.String","RowKey":"r","Timestamp":null,"Timestamp@odata.type":"Edm.DateTime"})");
  ASSERT_TRUE(body);
  EXPECT_TRUE(body->properties.empty());
  EXPECT_EQ(body->partition_key, "p");
}

TEST(ODataJson, IgnoresWhateverStandsThere) {
  const auto body = parse_entity_json(
      R"({"odata.etag":{"a":[1,{"b":null}],"c":"\u0041"},"odata.x":[],"PartitionKey":"p","Timestamp":{"t":[true,{}]}})");
  ASSERT_TRUE(body);
  EXPECT_TRUE(body->properties.empty());
  EXPECT_EQ(body->partition_key, "p");
  const std::string deep(100'000, '[');
  for (const auto& json :
       {std::string(R"({"odata.e":{"a":nul}})"), std::string(R"({"odata.e":[1,]})"),
        std::string(R"({"odata.e":{"a" 1}})"), std::string(R"({"odata.e":[1})"), std::string(R"({"odata.e":{"a":[1]})"),
        std::string(R"({"Timestamp":[01]})"), std::string("{\"odata.e\":[\"\xFF\"]}"), R"({"odata.e":)" + deep,
        R"({"odata.e":)" + deep + std::string(deep.size(), ']') + "}"}) {
    EXPECT_TRUE(parse_entity_json(json).failed_with(ErrorCode::kInvalidInput)) << json.substr(0, 40);
  }
  EXPECT_TRUE(
      parse_entity_json(R"({"Timestamp":1,"Timestamp":[]})").failed_with(ErrorCode::kDuplicatePropertiesSpecified));
  EXPECT_FALSE(parse_entity_json(R"({"Timestamp":{"a":1}})", "Timestamp"));
  EXPECT_EQ(parse_entity_json(R"({"Timestamp":"then"})", "Timestamp")->properties.size(), 1U);
}

TEST(ODataJson, WhatIsTooSmallForADoubleIsZero) {
  EXPECT_EQ(value_of(R"("n":1e-400)"), Value{0.0});
  EXPECT_EQ(value_of(R"("n":"1e-400","n@odata.type":"Edm.Double")"), Value{0.0});
  EXPECT_EQ(value_of(R"("n":5e-324)"), Value{5e-324});
  const auto negative = value_of(R"("n":-0.000001e-400)");
  ASSERT_TRUE(std::holds_alternative<double>(negative));
  EXPECT_EQ(std::get<double>(negative), 0.0);
  EXPECT_TRUE(std::signbit(std::get<double>(negative)));
  EXPECT_EQ(value_of("\"n\":0." + std::string(400, '0') + "1"), Value{0.0});
}

TEST(ODataJson, NullIsNoProperty) {
  auto body = parse_entity_json(R"({"PartitionKey":null,"a":null,"b":null,"b@odata.type":"Edm.Int64"})");
  ASSERT_TRUE(body);
  EXPECT_FALSE(body->partition_key.has_value());
  EXPECT_TRUE(body->properties.empty());
}

TEST(ODataJson, KeepsNamesThatDifferInCase) {
  auto body = parse_entity_json(R"({"Birthday":1,"birthday":2})");
  ASSERT_TRUE(body);
  EXPECT_EQ(body->properties.size(), 2U);
}

TEST(ODataJson, RefusesDuplicates) {
  EXPECT_TRUE(parse_entity_json(R"({"a":1,"b":2,"a":3})").failed_with(ErrorCode::kDuplicatePropertiesSpecified));
}

TEST(ODataJson, RefusesWhatDoesNotParse) {
  for (const char* json : {"",
                           "{",
                           "[]",
                           "1",
                           "{}x",
                           "{} {}",
                           R"({"a":1}})",
                           R"({"a":[1]})",
                           R"({"a":{"b":1}})",
                           R"({"a":01})",
                           R"({"a":tru})",
                           R"({"a":1 2})",
                           R"({"a":nul})",
                           R"({"a":1e999})",
                           R"({"a@odata.type":"Edm.Int64"})",
                           R"({"a":1,"a@odata.type":"Edm.Foo"})",
                           R"({"a":"x","a@odata.type":"Edm.Int64"})",
                           R"({"a":"9223372036854775808","a@odata.type":"Edm.Int64"})",
                           R"({"a":"x","a@odata.type":"Edm.Guid"})",
                           R"({"a":"?","a@odata.type":"Edm.Binary"})",
                           R"({"a":"1500-13-01T00:00:00Z","a@odata.type":"Edm.DateTime"})",
                           R"({"a":"x","a@odata.type":"Edm.Double"})",
                           R"({"a":1,"a@odata.type":"Edm.Boolean"})",
                           R"({"PartitionKey":5})",
                           "{\"a\":\"\xFF\"}",
                           R"({"a":1,})",
                           R"({"a" 1})"}) {
    EXPECT_TRUE(parse_entity_json(json).failed_with(ErrorCode::kInvalidInput)) << json;
  }
}

TEST(ODataJson, DoublesKeepTheirType) {
  auto text = [](double value) {
    std::string out;
    append_json_double(out, value);
    return out;
  };
  EXPECT_EQ(text(5), "5.0");
  EXPECT_EQ(text(3.1), "3.1");
  EXPECT_EQ(text(-0.0), "-0.0");
  EXPECT_EQ(text(1e300), "1e+300");
  EXPECT_EQ(text(0.1 + 0.2), "0.30000000000000004");
}

TEST(ODataJson, EscapesControlCharacters) {
  std::string out;
  append_json_string(out, std::string_view("a\"\\\n\x01\0z", 7));
  EXPECT_EQ(out, "\"a\\\"\\\\\\n\\u0001\\u0000z\"");
}

TEST(ODataJson, ListsTables) {
  std::string out;
  append_table_list(out, {"http://h/a", "a", "", MetadataLevel::kMinimal, nullptr}, {"t", "u"});
  EXPECT_EQ(out, R"({"odata.metadata":"http://h/a/$metadata#Tables","value":[{"TableName":"t"},{"TableName":"u"}]})");
}

TEST(ODataJson, ReadsTableNames) {
  EXPECT_EQ(*parse_table_json(R"({"TableName":"t"})"), "t");
  EXPECT_TRUE(parse_table_json("{}").failed_with(ErrorCode::kPropertiesNeedValue));
  EXPECT_TRUE(parse_table_json("t").failed_with(ErrorCode::kInvalidInput));
}

}  // namespace
}  // namespace tidemark::table_store
