// Tokens and declarations of change feeds.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "feeds/definition/feed_json.h"
#include "feeds/tokens/token.h"
#include "tests/support/seeded_random.h"

namespace tidemark::feeds {
namespace {

using table_store::ChangeFeed;
using table_store::FeedPlace;
using table_store::FeedStart;

TEST(FeedTokens, APlaceComesBack) {
  for (const auto& place : {FeedPlace{}, FeedPlace{1, 2, 3}, FeedPlace{1ULL << 60, 1LL << 62, 4'000'000'000U}}) {
    const auto token = token_of("People", place);
    EXPECT_EQ(token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"), token.npos);
    EXPECT_EQ(parse_token("people", token), place) << "tables match in any case";
  }
}

TEST(FeedTokens, OnlyWholeTokensOfTheTableAreTaken) {
  const auto token = token_of("People", {7, 638'000'000'000'000'000, 5});
  EXPECT_TRUE(parse_token("Peoples", token).failed_with(ErrorCode::kInvalidInput));
  for (std::size_t n = 0; n < token.size(); ++n) EXPECT_FALSE(parse_token("People", token.substr(0, n))) << n;
  for (const auto& bad : {token + "A", token + "=", " " + token, std::string(1000, 'A'), std::string("+/+/")}) {
    EXPECT_FALSE(parse_token("People", bad)) << bad;
  }
  auto random = make_seeded_random(3);
  for (int i = 0; i < 20'000; ++i) {
    auto other = token;
    other[random->below(other.size())] = static_cast<char>(random->below(256));
    if (other != token) EXPECT_FALSE(parse_token("People", other)) << other;
  }
}

TEST(FeedTokens, WordsStandForBothEnds) {
  EXPECT_EQ(parse_start("People", "oldest")->start, FeedStart::kOldest);
  EXPECT_EQ(parse_start("People", "begin")->start, FeedStart::kOldest);
  EXPECT_EQ(parse_start("People", "now")->start, FeedStart::kNow);
  const FeedPlace place{1, 2, 3};
  const auto start = parse_start("People", token_of("People", place));
  EXPECT_EQ(start->start, FeedStart::kPlace);
  EXPECT_EQ(start->place, place);
  EXPECT_FALSE(parse_start("People", ""));
  EXPECT_FALSE(parse_start("People", "NOW"));
}

TEST(FeedJson, ADeclarationIsReadAndWritten) {
  EXPECT_EQ(parse_feed(""), ChangeFeed{});
  EXPECT_EQ(parse_feed("{}"), ChangeFeed{});
  const auto feed = parse_feed(R"({"retention":60,"maxBytes":1048576,"values":"both"})");
  ASSERT_TRUE(feed);
  EXPECT_EQ(*feed, (ChangeFeed{60, 1 << 20, true, true}));
  EXPECT_EQ(to_json(*feed).dump(), R"({"maxBytes":1048576,"retention":60,"values":"both"})");
  for (const auto* values : {"keys", "new", "old"}) {
    const auto one = parse_feed(R"({"values":")" + std::string(values) + "\"}");
    EXPECT_EQ(to_json(*one)["values"], values);
  }
}

TEST(FeedJson, EveryProblemIsListed) {
  const auto refused = parse_feed(R"({"retention":0,"maxBytes":1,"values":"all","more":1})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fields.size(), 4U) << refused.error().message;
  for (const auto* bad : {"[]", "1", "{", R"({"retention":"1d"})"}) EXPECT_FALSE(parse_feed(bad)) << bad;
}

}  // namespace
}  // namespace tidemark::feeds
