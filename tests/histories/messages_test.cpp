// Histories of messages that are wrong on purpose, and right ones that look odd.
#include "tests/histories/messages.h"

#include <gmock/gmock.h>

namespace tidemark::histories {
namespace {

using ::testing::HasSubstr;

constexpr Moment kHour = 3'600'000'000;

struct MessageHistory {
  std::vector<MessageOperation> operations;

  MessageOperation& add(MessageVerb verb, Moment invoked, Moment returned) {
    auto& operation = operations.emplace_back();
    operation.verb = verb;
    operation.invoked = invoked;
    operation.returned = returned;
    operation.outcome = returned == kForever ? Outcome::kUnknown : Outcome::kOk;
    return operation;
  }
  MessageOperation& put(Moment invoked, Moment returned) {
    auto& operation = add(MessageVerb::kPut, invoked, returned);
    operation.text = 1;
    operation.given = 100;
    return operation;
  }
  MessageOperation& receive(Moment invoked, Moment returned, Token given, Moment hidden_for = 1000) {
    auto& operation = add(MessageVerb::kReceive, invoked, returned);
    operation.text = 1;
    operation.given = given;
    operation.hidden_for = hidden_for;
    operation.count = given;
    return operation;
  }
  MessageOperation& update(Moment invoked, Moment returned, Token receipt, Token given, Moment hidden_for) {
    auto& operation = add(MessageVerb::kUpdate, invoked, returned);
    operation.receipt = receipt;
    operation.given = given;
    operation.hidden_for = hidden_for;
    return operation;
  }
  MessageOperation& erase(Moment invoked, Moment returned, Token receipt) {
    auto& operation = add(MessageVerb::kErase, invoked, returned);
    operation.receipt = receipt;
    return operation;
  }
  void refuse() {
    operations.back().outcome = Outcome::kRefused;
    operations.back().refusal = Refusal::kAbsent;
  }
  std::string story(Moment slack = 0) const {
    const auto judgement = judge(operations, slack);
    EXPECT_EQ(judgement.verdict, Verdict::kWrong);
    return judgement.story;
  }
  void expect_right(Moment slack = 0) const {
    const auto judgement = judge(operations, slack);
    EXPECT_EQ(judgement.verdict, Verdict::kRight) << judgement.story;
  }
};

TEST(Messages, LiveAndEnd) {
  MessageHistory history;
  history.put(0, 10);
  history.receive(20, 30, 1);
  history.update(40, 50, 1, 11, 0);
  history.receive(60, 70, 2);
  history.erase(80, 90, 2);
  history.add(MessageVerb::kMiss, 100, 110);
  history.expect_right();
}

TEST(Messages, OneThatIsLostIsWrong) {
  MessageHistory history;
  history.put(0, 10);
  history.receive(20, 30, 1);
  history.add(MessageVerb::kMiss, kHour, kHour + 10);
  EXPECT_THAT(history.story(), HasSubstr("queue emptied: not found"));
}

TEST(Messages, NoneComesAfterAnAcknowledgedDelete) {
  MessageHistory history;
  history.put(0, 10);
  history.receive(20, 30, 1);
  history.erase(40, 50, 1);
  history.receive(kHour, kHour + 10, 2);
  EXPECT_THAT(history.story(), HasSubstr("delete by receipt 1"));
}

TEST(Messages, NeitherDoesAPeek) {
  MessageHistory history;
  history.put(0, 10);
  history.receive(20, 30, 1);
  history.erase(40, 50, 1);
  history.add(MessageVerb::kPeek, 60, 70).text = 1;
  history.story();
}

TEST(Messages, OneMayComeBesideItsDelete) {
  MessageHistory history;
  history.put(0, 10);
  history.receive(20, 30, 1, 10);
  history.receive(100, 200, 2);
  history.erase(120, 210, 1);
  history.refuse();
  history.expect_right();
}

TEST(Messages, TwoLiveReceiptsAreWrong) {
  MessageHistory history;
  history.put(0, 10);
  history.receive(20, 30, 1, 1000);
  history.receive(900, 1015, 2);  // the first cannot have ended before 1020
  EXPECT_THAT(history.story(), HasSubstr("gives receipt 2"));
  history.expect_right(10);  // clocks may differ by so much
}

TEST(Messages, TheTimeOfAReceiptBeginsBeforeOthersSeeIt) {
  MessageHistory history;
  history.put(0, 10);
  history.receive(20, 300, 1, 1000);
  history.add(MessageVerb::kPeek, 200, 210).text = 1;
  history.receive(1015, 1025, 2);
  history.expect_right();
}

TEST(Messages, AReceiptEndsWithItsTime) {
  MessageHistory history;
  history.put(0, 10);
  history.receive(20, 30, 1, 1000);
  history.receive(900, 1025, 2);
  history.erase(1100, 1110, 1);
  history.refuse();
  history.erase(1120, 1130, 2);
  history.expect_right();
}

TEST(Messages, AnUpdateGivesItBackEarlier) {
  MessageHistory history;
  history.put(0, 10);
  history.receive(20, 30, 1, kHour);
  history.update(40, 50, 1, 11, 0);
  history.receive(60, 70, 2);
  history.expect_right();
}

TEST(Messages, AnUpdateKeepsItLonger) {
  MessageHistory history;
  history.put(0, 10);
  history.receive(20, 30, 1, 100);
  history.update(40, 50, 1, 11, 1000);
  history.receive(200, 210, 2);
  history.story();
}

TEST(Messages, AnUpdateThatNobodyHeardOfMayHaveBeenDone) {
  MessageHistory history;
  history.put(0, 10);
  history.receive(20, 30, 1, kHour);
  history.update(40, kForever, 1, 0, 0);
  history.receive(200, 210, 2);
  history.erase(300, 310, 1);
  history.refuse();
  history.expect_right();
}

TEST(Messages, ADeleteThatNobodyHeardOfMayBeDoneLate) {
  MessageHistory history;
  history.put(0, 10);
  history.receive(20, 30, 1, kHour);
  history.erase(40, kForever, 1);
  history.add(MessageVerb::kMiss, 2 * kHour, 2 * kHour + 10);
  history.expect_right();
  history.receive(3 * kHour, 3 * kHour + 10, 2);  // and it is there again
  EXPECT_THAT(history.story(), HasSubstr("delete by receipt 1: unknown"));
}

TEST(Messages, APutThatNobodyHeardOfMayComeLateOrNever) {
  MessageHistory history;
  history.put(0, kForever);
  history.add(MessageVerb::kMiss, kHour, kHour + 10);
  history.expect_right();
  history.receive(2 * kHour, 2 * kHour + 10, 1);
  history.expect_right();
}

TEST(Messages, OneThatNobodyPutIsWrong) {
  MessageHistory history;
  history.receive(0, 10, 1);
  history.story();
}

TEST(Messages, AReceiptThatHoldsIsNotRefused) {
  MessageHistory history;
  history.put(0, 10);
  history.receive(20, 30, 1);
  history.erase(40, 50, 1);
  history.refuse();
  history.story();
  history.operations.back().may_be_taken = true;  // by a receive that was not answered
  history.expect_right();
}

TEST(Messages, AReceiptThatWasReplacedIsNotTaken) {
  MessageHistory history;
  history.put(0, 10);
  history.receive(20, 30, 1, 10);
  history.receive(100, 110, 2, kHour);
  history.erase(120, 130, 1);
  history.story();
}

TEST(Messages, DeliveriesAreCounted) {
  MessageHistory history;
  history.put(0, 10);
  history.receive(20, 30, 1, 10);
  history.receive(100, 110, 2).count = 1;
  history.story();
}

TEST(Messages, AnUpdateOfTheTextIsNotLost) {
  MessageHistory history;
  history.put(0, 10);
  history.receive(20, 30, 1, 10);
  history.update(40, 50, 1, 11, 0).text = 2;
  history.receive(60, 70, 2).text = 1;
  history.story();
  history.operations.back().text = 2;
  history.expect_right();
}

TEST(Messages, ADelayedOneIsNotSeenBefore) {
  MessageHistory history;
  history.put(0, 10).hidden_for = 1000;
  history.receive(20, 30, 1);
  history.story();
}

}  // namespace
}  // namespace tidemark::histories
