#include <gtest/gtest.h>

#include "table_store/odata/etag.h"
#include "table_store/rest/continuation.h"

namespace tidemark::table_store {
namespace {

Version version_at(const char* text) { return parse_iso8601(text)->time_since_epoch().count(); }

TEST(ETag, IsTheTimestampPercentEncoded) {
  EXPECT_EQ(etag_of(version_at("2026-11-21T12:09:13.1864608Z")), "W/\"datetime'2026-11-21T12%3A09%3A13.1864608Z'\"");
}

TEST(ETag, HasNoTrailingZeros) {
  EXPECT_EQ(etag_of(version_at("2020-08-20T22:20:23.7513810Z")), "W/\"datetime'2020-08-20T22%3A20%3A23.751381Z'\"");
}

TEST(ETag, ReadsBackItsOwnText) {
  auto version = version_at("2020-08-20T22:20:23.751381Z");
  auto parsed = parse_if_match(etag_of(version));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, std::optional<Version>{version});
}

TEST(ETag, StarMeansAnyVersion) {
  auto parsed = parse_if_match("*");
  ASSERT_TRUE(parsed);
  EXPECT_FALSE(parsed->has_value());
}

TEST(ETag, TagOfAnotherSpellingNeverMatches) {
  auto parsed = parse_if_match("W/\"datetime'2020-08-20T22%3A20%3A23.7513810Z'\"");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, std::optional<Version>{kNoSuchVersion});
}

TEST(ETag, WhatWouldHaveToBeRoundedNeverMatches) {
  const auto parsed = parse_if_match("W/\"datetime'2020-08-20T22%3A20%3A23.75138104Z'\"");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, std::optional<Version>{kNoSuchVersion});
}

TEST(ETag, RefusesWhatIsNotATag) {
  for (const char* text : {"", "abc", "\"abc\"", "W/", "W/\"", "W/abc", "X/\"abc\"", "W\"abc\""}) {
    EXPECT_TRUE(parse_if_match(text).failed_with(ErrorCode::kInvalidInput)) << text;
  }
}

TEST(ETag, WeakTagOfSomebodyElseNeverMatches) {
  for (const char* text : {"W/\"datetime''\"", "W/\"abc\"", "w/\"wrong\"", "W/\"\"", "W/\"datetime'yesterday'\"",
                           "W/\"datetime'\"", "w/\"datetime'2020-08-20T22%3A20%3A23.751381Z'\""}) {
    const auto parsed = parse_if_match(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(*parsed, std::optional<Version>{kNoSuchVersion}) << text;
  }
}

TEST(Continuation, HasTheFormOfTheService) {
  EXPECT_EQ(encode_token("pk801016e8"), "1!16!cGs4MDEwMTZlOA--");
  EXPECT_EQ(encode_token("rk801016e812345"), "1!20!cms4MDEwMTZlODEyMzQ1");
}

TEST(Continuation, ReadsBackAnyKey) {
  for (std::string key : {"", "a", "~~~~>>>>?x?y", "h\xC3\xA9llo", " ' % +"}) {
    auto token = encode_token(key);
    EXPECT_FALSE(token.empty());
    EXPECT_EQ(token.find(' '), std::string::npos);
    auto back = decode_token(token);
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, key);
  }
}

TEST(Continuation, MissingTokenIsTheEmptyKey) {
  auto key = decode_token("");
  ASSERT_TRUE(key);
  EXPECT_EQ(*key, "");
}

TEST(Continuation, RefusesForeignTokens) {
  for (const char* text : {"x", "1!", "1!5!abcd", "2!4!YWJj", "1!4!Y*$j", "1!4!wyg-"}) {
    EXPECT_TRUE(decode_token(text).failed_with(ErrorCode::kInvalidInput)) << text;
  }
}

}  // namespace
}  // namespace tidemark::table_store
