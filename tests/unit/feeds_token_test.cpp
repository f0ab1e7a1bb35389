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
using table_store::LogPlace;
using table_store::place_in_feed;

TEST(FeedTokens, APlaceComesBack) {
  for (const auto& place :
       {place_in_feed(0, 0, 0), place_in_feed(1, 2, 3), place_in_feed(1ULL << 60, 1LL << 62, 4'000'000'000U),
        FeedPlace{9, {{5, 1}, {7, 0}, {0, 2}}}, FeedPlace{1, std::vector<LogPlace>(64, {1LL << 62, 4'000'000'000U})}}) {
    const auto token = token_of("People", place);
    EXPECT_EQ(token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"), token.npos);
    EXPECT_EQ(parse_token("people", token), place) << "tables match in any case";
  }
}

TEST(FeedTokens, OneLogHasTheTokenThatItAlwaysHad) {
  EXPECT_EQ(token_of("People", place_in_feed(7, 638'000'000'000'000'000, 5)), "AQcAALOmnqHaCAUR-UKSmsJIwg");
}

TEST(FeedTokens, EightLogsHaveAboutAHundredCharacters) {
  FeedPlace place{7, {}};
  constexpr std::int64_t kDay = 24LL * 3600 * 10'000'000;
  for (int shard = 0; shard < 8; ++shard) place.logs.push_back({638'000'000'000'000'000 - shard * kDay, 1});
  EXPECT_LE(token_of("People", place).size(), 110U);
}

TEST(FeedTokens, AChangeHasOneNameWhereverAReaderComesFrom) {
  table_store::FeedPage page;
  table_store::Change change;
  change.version = 9;
  change.index = 1;
  page.next = place_in_feed(7, 30, 0);
  EXPECT_EQ(id_of("People", page, change), token_of("People", place_in_feed(7, 9, 2)));
  page.next = {7, {{30, 0}, {40, 0}}};
  const auto first = id_of("People", page, change);
  page.next.logs[1] = {50, 3};
  EXPECT_EQ(id_of("People", page, change), first);
  change.shard = 1;
  EXPECT_NE(id_of("People", page, change), first);
}

void expect_only_whole(const std::string& token) {
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

TEST(FeedTokens, OnlyWholeTokensOfTheTableAreTaken) {
  for (const auto& place : {place_in_feed(7, 638'000'000'000'000'000, 5),
                            FeedPlace{7, {{638'000'000'000'000'000, 5}, {638'000'000'000'000'007, 0}}}}) {
    expect_only_whole(token_of("People", place));
  }
}

TEST(FeedTokens, WordsStandForBothEnds) {
  EXPECT_EQ(parse_start("People", "oldest")->start, FeedStart::kOldest);
  EXPECT_EQ(parse_start("People", "begin")->start, FeedStart::kOldest);
  EXPECT_EQ(parse_start("People", "now")->start, FeedStart::kNow);
  const auto place = place_in_feed(1, 2, 3);
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
