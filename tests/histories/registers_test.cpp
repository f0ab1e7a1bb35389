// Histories of entities and blobs that are wrong on purpose, and right ones that look odd.
#include "tests/histories/registers.h"

#include <gmock/gmock.h>

#include <random>

namespace tidemark::histories {
namespace {

using Operations = std::vector<RegisterOperation>;
using ::testing::HasSubstr;
using ::testing::Not;

/// A history in the making: each call appends one operation with its client, its times and its changes or result.
class Said {
 public:
  RegisterOperation& write(int client, Moment invoked, Moment returned, std::vector<Change> changes) {
    auto& operation = add(client, invoked, returned);
    operation.changes = std::move(changes);
    return operation;
  }
  RegisterOperation& put(int client, Moment invoked, Moment returned, Token token, Row row = 0) {
    return write(client, invoked, returned, {{Verb::kPut, row, token}});
  }
  void refused(int client, Moment invoked, Moment returned, Refusal refusal, const Change& change) {
    auto& operation = write(client, invoked, returned, {change});
    operation.outcome = Outcome::kRefused;
    operation.refusal = refusal;
  }
  void lost(int client, Moment invoked, std::vector<Change> changes) {
    write(client, invoked, kForever, std::move(changes)).outcome = Outcome::kUnknown;
  }
  void get(int client, Moment invoked, Moment returned, Token token, Row row = 0) {
    auto& operation = add(client, invoked, returned);
    operation.how = "get";
    operation.asked = {row, row, std::nullopt};
    if (token != kNothing) operation.seen[row] = {token, token};
  }
  RegisterOperation& query(int client, Moment invoked, Moment returned, std::map<Row, Content> seen) {
    auto& operation = add(client, invoked, returned);
    operation.how = "query";
    operation.seen = std::move(seen);
    return operation;
  }

  [[nodiscard]] const Operations& operations() const { return operations_; }
  [[nodiscard]] Judgement judged() const { return judge(operations_); }
  /// The story that the search tells, without the check of sessions.
  [[nodiscard]] std::string story() const {
    const auto judgement = judged();
    EXPECT_EQ(judgement.verdict, Verdict::kWrong);
    return judgement.story;
  }
  void expect_right() const {
    const auto judgement = judged();
    EXPECT_EQ(judgement.verdict, Verdict::kRight) << judgement.story;
  }

 private:
  RegisterOperation& add(int client, Moment invoked, Moment returned) {
    auto& operation = operations_.emplace_back();
    operation.client = client;
    operation.invoked = invoked;
    operation.returned = returned;
    return operation;
  }
  Operations operations_;
};

TEST(Registers, NothingIsRight) { Said().expect_right(); }

TEST(Registers, AReadShowsWhatWasWritten) {
  Said said;
  said.put(1, 0, 10, 1);
  said.get(2, 20, 30, 1);
  said.expect_right();
}

TEST(Registers, AStaleReadIsWrong) {
  Said said;
  said.put(1, 0, 10, 1);
  said.put(1, 20, 30, 2);
  said.get(2, 40, 50, 1);
  EXPECT_THAT(said.story(), HasSubstr("no order of these"));
}

TEST(Registers, AReadBesideAWriteShowsEither) {
  for (const Token token : {1U, 2U}) {
    Said said;
    said.put(1, 0, 10, 1);
    said.put(1, 20, 60, 2);
    said.get(2, 30, 40, token);
    said.expect_right();
  }
}

TEST(Registers, TwoReadsBesideAWriteDoNotGoBack) {
  Said said;
  said.put(1, 0, 10, 1);
  said.put(1, 20, 60, 2);
  said.get(2, 30, 40, 2);
  said.get(3, 45, 50, 1);
  EXPECT_EQ(said.judged().verdict, Verdict::kWrong);
  EXPECT_EQ(broken_session(said.operations()), std::nullopt) << "each client has looked once";
}

TEST(Registers, AReadOfWhatNobodyWroteIsWrong) {
  Said said;
  said.put(1, 0, 10, 1);
  said.get(2, 20, 30, 9);
  EXPECT_THAT(said.story(), HasSubstr("get r0: r0=w9"));
}

TEST(Registers, ALostUpdateIsWrong) {
  Said said;
  said.put(1, 0, 10, 1);
  said.write(1, 20, 40, {{Verb::kReplace, 0, 2, 1}});
  said.write(2, 20, 40, {{Verb::kReplace, 0, 3, 1}});  // both replaced the first version
  EXPECT_THAT(said.story(), HasSubstr("replace r0=w3 if w1: done"));
}

TEST(Registers, OfTwoUpdatesOneIsRefused) {
  Said said;
  said.put(1, 0, 10, 1);
  said.write(1, 20, 40, {{Verb::kReplace, 0, 2, 1}});
  said.refused(2, 20, 40, Refusal::kMismatch, {Verb::kReplace, 0, 3, 1});
  said.get(3, 50, 60, 2);
  said.expect_right();
}

TEST(Registers, ARefusalNeedsAReason) {
  Said said;
  said.put(1, 0, 10, 1);
  said.refused(2, 20, 30, Refusal::kMismatch, {Verb::kReplace, 0, 2, 1});
  EXPECT_EQ(said.judged().verdict, Verdict::kWrong);
  Said other;
  other.refused(1, 0, 10, Refusal::kExists, {Verb::kInsert, 0, 1});
  EXPECT_EQ(other.judged().verdict, Verdict::kWrong);
}

TEST(Registers, AMergeKeepsWhatItDoesNotName) {
  Said right;
  right.put(1, 0, 10, 1);
  right.write(1, 20, 30, {{Verb::kMerge, 0, 2}});
  right.query(2, 40, 50, {{0, {2, 1}}});
  right.expect_right();
  Said wrong;
  wrong.put(1, 0, 10, 1);
  wrong.write(1, 20, 30, {{Verb::kMerge, 0, 2}});
  wrong.query(2, 40, 50, {{0, {2, 2}}});
  EXPECT_EQ(wrong.judged().verdict, Verdict::kWrong);
}

TEST(Registers, AGroupIsSeenWholeOrNotAtAll) {
  Said said;
  said.write(1, 0, 10, {{Verb::kPut, 0, 1}, {Verb::kPut, 1, 1}});
  said.write(1, 20, 60, {{Verb::kPut, 0, 2}, {Verb::kPut, 1, 2}});
  said.query(2, 30, 40, {{0, {2, 2}}, {1, {1, 1}}});
  EXPECT_THAT(said.story(), HasSubstr("query: r0=w2 r1=w1"));
}

TEST(Registers, TwoPointReadsDoNotSeeHalfAGroup) {
  Said said;
  said.write(1, 0, 10, {{Verb::kPut, 0, 1}, {Verb::kPut, 1, 1}});
  said.write(1, 20, 60, {{Verb::kPut, 0, 2}, {Verb::kErase, 1}});
  said.get(2, 30, 35, 2, 0);
  said.get(2, 40, 45, 1, 1);  // it should be gone
  EXPECT_EQ(said.judged().verdict, Verdict::kWrong);
}

TEST(Registers, OneWrongChangeRefusesTheGroup) {
  Said said;
  said.put(1, 0, 10, 1, 1);
  auto& group = said.write(1, 20, 30, {{Verb::kPut, 0, 2}, {Verb::kInsert, 1, 2}});
  group.outcome = Outcome::kRefused;
  group.refusal = Refusal::kExists;
  said.query(2, 40, 50, {{1, {1, 1}}});
  said.expect_right();
}

TEST(Registers, AnUnknownWriteMayComeLate) {
  Said said;
  said.put(1, 0, 10, 1);
  said.lost(2, 20, {{Verb::kPut, 0, 2}});
  said.get(3, 100, 110, 1);
  said.get(3, 5000, 5010, 2);
  said.expect_right();
}

TEST(Registers, AnUnknownWriteMayNeverCome) {
  Said said;
  said.put(1, 0, 10, 1);
  said.lost(2, 20, {{Verb::kErase, 0}});
  said.get(3, 5000, 5010, 1);
  said.expect_right();
}

TEST(Registers, AnUnknownWriteThatAppearsAndVanishesIsWrong) {
  Said said;
  said.put(1, 0, 10, 1);
  said.lost(2, 20, {{Verb::kPut, 0, 2}});
  said.get(3, 100, 110, 2);
  said.get(4, 200, 210, 1);
  EXPECT_THAT(said.story(), HasSubstr("put r0=w2: unknown"));
}

TEST(Registers, AnUnknownWriteExplainsARefusal) {
  Said said;
  said.lost(1, 0, {{Verb::kInsert, 0, 1}});
  said.refused(2, 100, 110, Refusal::kExists, {Verb::kInsert, 0, 2});
  said.expect_right();
  said.get(3, 200, 210, kNothing);  // and then it is not there
  EXPECT_EQ(said.judged().verdict, Verdict::kWrong);
}

TEST(Registers, AnUnknownGroupComesWhole) {
  Said said;
  said.lost(1, 0, {{Verb::kPut, 0, 1}, {Verb::kPut, 1, 1}});
  said.get(2, 100, 110, 1, 0);
  said.get(2, 120, 130, kNothing, 1);
  EXPECT_EQ(said.judged().verdict, Verdict::kWrong);
}

TEST(Registers, AQueryByAPropertyShowsAllThatHaveIt) {
  Said said;
  said.put(1, 0, 10, 4, 0);
  said.put(1, 20, 30, 8, 1);
  said.put(1, 40, 50, 9, 2);
  said.query(2, 60, 70, {{0, {4, 4}}, {1, {8, 8}}}).asked.shade = 0;
  said.expect_right();
  said.query(2, 80, 90, {{0, {4, 4}}}).asked.shade = 0;
  EXPECT_EQ(said.judged().verdict, Verdict::kWrong);
}

TEST(Registers, WhatIsWrongIsToldInFewLines) {
  Said said;
  Token token = 0;
  for (Moment at = 0; at < 40'000; at += 100) {
    std::vector<Change> changes;
    ++token;
    for (Row row = 0; row < 20; ++row) changes.push_back({Verb::kPut, row, token});
    said.write(1, at, at + 50, std::move(changes));
    said.get(2, at + 60, at + 70, token, 3);
  }
  said.get(3, 30'062, 30'071, 300, 7);  // which 301 had overwritten
  const auto story = said.story();
  EXPECT_THAT(story, HasSubstr("get r7: r7=w300"));
  EXPECT_LE(std::ranges::count(story, '\n'), 5) << story;
  EXPECT_THAT(story, Not(HasSubstr("r3"))) << "rows that do not matter";
}

TEST(Sessions, ABackwardsQueryIsToldAtOnce) {
  Said said;
  said.put(1, 0, 10, 1);
  said.put(1, 20, 30, 2);
  said.get(2, 25, 40, 2);
  said.query(2, 41, 50, {{0, {1, 1}}});
  EXPECT_THAT(said.story(), HasSubstr("client 2 is shown something older than before"));
  EXPECT_THAT(said.story(), HasSubstr("query shows r0=w1"));
}

TEST(Sessions, WhatWasExpectedTellsTheOrder) {
  Said said;
  said.put(1, 0, 100, 1);
  said.write(3, 0, 100, {{Verb::kReplace, 0, 2, 1}});
  said.get(2, 10, 20, 2);
  said.get(2, 30, 40, 1);
  EXPECT_THAT(said.story(), HasSubstr("write r0=w2 if w1"));
}

TEST(Sessions, AClientReadsItsOwnWrites) {
  Said said;
  said.put(1, 0, 10, 1);
  said.put(2, 20, 30, 2);
  said.get(2, 40, 50, 1);
  EXPECT_THAT(said.story(), HasSubstr("its own write shows r0=w2"));
}

TEST(Sessions, WhatWasThereDoesNotVanish) {
  Said said;
  said.put(1, 0, 10, 1);
  said.get(2, 20, 30, 1);
  said.query(2, 40, 50, {});
  EXPECT_THAT(said.story(), HasSubstr("query shows r0=nothing"));
  Said with_an_erase;
  with_an_erase.put(1, 0, 10, 1);
  with_an_erase.get(2, 20, 30, 1);
  with_an_erase.lost(3, 5, {{Verb::kErase, 0}});
  with_an_erase.query(2, 40, 50, {});
  with_an_erase.expect_right();
}

TEST(Sessions, AQueryOfAnotherShadeSaysNothingOfARow) {
  Said said;
  said.put(1, 0, 10, 4);
  said.get(2, 20, 30, 4);
  said.query(2, 40, 50, {}).asked.shade = 1;
  said.expect_right();
}

TEST(Search, EndsWhereItWouldTakeTooLong) {
  Said said;
  for (Token token = 1; token <= 8; ++token) said.put(static_cast<int>(token), 0, 100, token, 0);
  said.get(20, 200, 210, 50);
  EXPECT_EQ(judge(said.operations(), 1000).verdict, Verdict::kNotJudged);
  EXPECT_EQ(judge(said.operations()).verdict, Verdict::kWrong);
}

/// The history of a store of one row that does one thing after the other, each at some moment between its call and its
/// answer. `stale`: at the end it shows an earlier version.
Said random_history(std::uint64_t seed, bool stale) {
  std::mt19937_64 dice(seed);
  Said said;
  Token there = kNothing;
  Token acknowledged = kNothing;
  Moment done = 0;  // the moment of the last operation
  const auto last = 20 + dice() % 30;
  for (Token token = 1; token < last; ++token) {
    done += 1 + static_cast<Moment>(dice() % 20);
    const auto invoked = done - static_cast<Moment>(dice() % 60);
    const auto returned = done + static_cast<Moment>(dice() % 60);
    const int client = static_cast<int>(token);
    if (dice() % 2 == 0) {
      said.get(client, invoked, returned, there);
    } else if (dice() % 4 == 0) {
      const bool takes_effect = dice() % 2 == 0;
      said.lost(client, invoked, {{Verb::kPut, 0, token}});
      if (takes_effect) there = token;
    } else {
      said.put(client, invoked, returned, token);
      there = acknowledged = token;
    }
  }
  // All answered operations are over by now.
  if (stale) said.put(900, done + 100, done + 110, 900);
  if (stale) said.get(901, done + 120, done + 130, acknowledged);
  return said;
}

TEST(Search, KnowsRightFromWrong) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    random_history(seed, false).expect_right();
    EXPECT_EQ(random_history(seed, true).judged().verdict, Verdict::kWrong) << seed;
  }
}

}  // namespace
}  // namespace tidemark::histories
