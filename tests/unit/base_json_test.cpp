// JSON from outside: the accepted forms, and the messages of refusals.
#include "common/base/json.h"

#include <gtest/gtest.h>

namespace tidemark {
namespace {

std::string nested(std::size_t levels, char open, char close) {
  return std::string(levels, open) + std::string(levels, close);
}

std::string problem(std::string_view text) {
  const auto value = read_json(text);
  EXPECT_TRUE(!value && value.error().code == ErrorCode::kInvalidInput) << text;
  EXPECT_TRUE(json_or_discarded(text).is_discarded());
  return value ? "" : value.error().message;
}

TEST(ReadJson, ReadsWhatTheParserReads) {
  for (const char* text : {"null", "true", "-1", "18446744073709551615", "-9223372036854775808", "0.5", "1e3",
                           "\"a\\u00e9\"", "[]", "{}", "[1,[2,{\"a\":[]}],3]", R"({"b":{"c":[null,{}]},"a":"x"})"}) {
    const auto value = read_json(text);
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(*value, nlohmann::json::parse(text));
  }
}

TEST(ReadJson, BoundsTheDepth) {
  EXPECT_TRUE(read_json(nested(kMaxJsonDepth, '[', ']')));
  EXPECT_EQ(problem(nested(kMaxJsonDepth + 1, '[', ']')), "it is nested deeper than 64 levels");
  std::string objects;
  for (int i = 0; i < 1'900'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(problem(objects), "it is nested deeper than 64 levels");
  EXPECT_EQ(problem(std::string(10'000'000, '[')), "it is nested deeper than 64 levels");
}

TEST(ReadJson, RefusesAMemberThatIsGivenTwice) {
  EXPECT_EQ(problem(R"({"a":1,"b":{"a":1,"c":2,"c":3}})"), R"(the member "c" is given twice)");
  EXPECT_TRUE(read_json(R"([{"a":1},{"a":1}])"));
}

TEST(ReadJson, RefusesNumbersThatItWouldChange) {
  EXPECT_EQ(problem("[18446744073709551616]"), "[0]: the number 18446744073709551616 is too large");
  EXPECT_EQ(problem(R"({"a":{"b":1},"maxAffected":18446744073709551616})"),
            "maxAffected: the number 18446744073709551616 is too large");
  EXPECT_EQ(problem(R"({"jobs":[{"x":{}},{"set":{"y":[],"Left":1e999}}]})"),
            "jobs[1].set.Left: the number 1e999 is too large");
  EXPECT_EQ(problem("-9223372036854775809"), "the number -9223372036854775809 is too large");
}

TEST(ReadJson, SaysWhereItIsBroken) {
  EXPECT_EQ(problem("{\"a\":1,}"), "it is not JSON, from byte 8 on");
  EXPECT_EQ(problem("\"\xff\""), "it is not JSON, from byte 2 on");
  problem("");
  problem("1 2");
  problem("{} trailing");
}

}  // namespace
}  // namespace tidemark
