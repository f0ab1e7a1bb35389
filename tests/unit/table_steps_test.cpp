// Steps of transactions in the table store: what one commit of a shard does, and what it remembers.
#include "table_fixture.h"
#include "table_store/model/steps.h"

namespace tidemark::table_store {
namespace {

using enum MutationKind;

struct TableStepsTest : TableFixture {
  void SetUp() override {
    for (const auto* table : {"people", "former"}) create(table);
  }
  static Mutation change(MutationKind kind, std::string row, std::int32_t number) {
    Mutation mutation;
    mutation.kind = kind;
    mutation.row_key = std::move(row);
    if (kind != kErase) mutation.properties = {{"Number", number}};
    return mutation;
  }
  static Mutation adding(std::string row, std::int32_t amount) {
    auto mutation = change(kInsertOrMerge, std::move(row), 0);
    mutation.properties.clear();
    mutation.adds = {{"Number", amount}};
    return mutation;
  }
  static StepsRequest request(std::string operation, std::uint64_t epoch = 1) {
    StepsRequest out;
    out.fence = {std::move(operation), epoch, ""};
    out.at = PartitionName{"people", "p"};
    return out;
  }
  static StepsRequest deciding(std::string operation, std::string note, std::uint64_t epoch = 1) {
    auto out = request(std::move(operation), epoch);
    out.deciding = Deciding::kGoesAhead;
    out.note = std::move(note);
    return out;
  }
  Result<std::variant<StepsTaken, StepFailure>> take(StepsRequest request) {
    return run_task(service->take_steps("acct", std::move(request)));
  }
  StepsTaken taken(StepsRequest request) {
    auto done = take(std::move(request));
    EXPECT_TRUE(done.has_value()) << done.error().message;
    const auto* it = done ? std::get_if<StepsTaken>(&*done) : nullptr;
    EXPECT_NE(it, nullptr);
    return it != nullptr ? *it : StepsTaken{};
  }
  std::optional<Entity> find(const std::string& table, const std::string& row) {
    return *service->get("acct", table, "p", row);
  }
  std::int32_t number(const std::string& row, const std::string& table = "people") {
    const auto entity = find(table, row);
    return entity ? std::get<std::int32_t>(*entity->find("Number")) : -1;
  }
  Version put(const std::string& row, std::int32_t value) {
    std::vector<Mutation> changes{change(kInsertOrReplace, row, value)};
    return run_task(service->mutate("acct", "people", "p", std::move(changes), std::nullopt))->outcomes[0].version;
  }
  OperationLedger ledger(const std::string& operation) { return *run_task(service->read_operation("acct", operation)); }
};

TEST_F(TableStepsTest, EachStepIsTakenOnceAndRemembersWhatWasThere) {
  put("r", 5);
  auto steps = deciding("op", "note");
  steps.steps = {{1, "people", "p", adding("r", 2)},
                 {2, "former", "p", change(kInsert, "new", 7)},
                 {3, "people", "p", change(kErase, "none", 0)}};
  EXPECT_EQ(taken(steps).taken, 3U);
  EXPECT_EQ(number("r"), 7);
  EXPECT_EQ(number("new", "former"), 7);
  // Again, as a repetition of the same call, and as a call of a later attempt.
  const auto again = taken(steps);
  EXPECT_TRUE(again.decided_before);
  EXPECT_EQ(again.decision->note, "note");
  auto later = request("op", 2);
  later.steps = steps.steps;
  EXPECT_EQ(taken(later).taken, 3U);
  EXPECT_EQ(number("r"), 7);
  const auto marks = ledger("op").steps;
  ASSERT_EQ(marks.size(), 3U);
  const auto first = decode_effect(marks[0].effect);
  ASSERT_TRUE(first && first->before);
  EXPECT_EQ(*first->before, property_block(std::vector<Property>{{"Number", std::int32_t{5}}}));
  EXPECT_EQ(first->version, find("people", "r")->version);
  EXPECT_FALSE(decode_effect(marks[1].effect)->before);
  EXPECT_EQ(decode_effect(marks[2].effect)->version, 0) << "there was nothing to erase";
}

TEST_F(TableStepsTest, AGuardOfAnotherVersionDecidesNothing) {
  const auto version = put("r", 5);
  auto steps = deciding("op", "note");
  steps.guards = {{"people", "p", "none", {}}, {"people", "p", "r", version - 1}};
  steps.steps = {{1, "people", "p", adding("r", 2)}};
  EXPECT_EQ(taken(steps).broken_guard, 1U);
  EXPECT_FALSE(ledger("op").decision);
  EXPECT_EQ(number("r"), 5);
  steps.guards[1].version = version;
  EXPECT_FALSE(taken(steps).broken_guard);
  EXPECT_EQ(number("r"), 7);
  steps.guards[0].version = version;
  steps.fence.operation_id = "other";
  EXPECT_EQ(taken(steps).broken_guard, 0U) << "there is no such entity";
}

TEST_F(TableStepsTest, TheFirstDecisionCounts) {
  auto withdrawal = request("op");
  withdrawal.deciding = Deciding::kWithdraws;
  withdrawal.note = "why";
  EXPECT_TRUE(taken(withdrawal).decision->withdrawn);
  auto steps = deciding("op", "note", 2);
  steps.steps = {{1, "people", "p", adding("r", 2)}};
  const auto late = taken(steps);
  EXPECT_TRUE(late.decided_before && late.decision->withdrawn);
  EXPECT_EQ(late.decision->note, "why");
  auto after = request("op", 3);
  after.steps = steps.steps;
  EXPECT_EQ(taken(after).taken, 0U);
  EXPECT_FALSE(find("people", "r"));
  // The other way round.
  steps.fence.operation_id = "other";
  EXPECT_FALSE(taken(steps).decision->withdrawn);
  withdrawal.fence = {"other", 2, ""};
  EXPECT_FALSE(taken(withdrawal).decision->withdrawn);
}

TEST_F(TableStepsTest, AStepThatFailsNamesItselfAndNothingTakesEffect) {
  auto steps = deciding("op", "note");
  steps.steps = {{1, "people", "p", adding("r", 2)}, {2, "people", "p", change(kMerge, "none", 1)}};
  auto done = take(steps);
  ASSERT_TRUE(done.has_value());
  const auto* failure = std::get_if<StepFailure>(&*done);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->number, 2U);
  EXPECT_EQ(failure->error.code, ErrorCode::kResourceNotFound);
  EXPECT_FALSE(find("people", "r"));
  EXPECT_FALSE(ledger("op").decision);
  steps.steps[1].table = "nowhere";
  done = take(steps);
  ASSERT_TRUE(done && std::holds_alternative<StepFailure>(*done));
  EXPECT_EQ(std::get<StepFailure>(*done).error.code, ErrorCode::kTableNotFound);
}

TEST_F(TableStepsTest, AnEarlierAttemptIsRefused) {
  auto later = request("op", 5);
  later.steps = {{1, "people", "p", adding("r", 2)}};
  EXPECT_EQ(taken(later).taken, 1U);
  auto earlier = request("op", 4);
  earlier.steps = {{2, "people", "p", adding("r", 2)}};
  EXPECT_TRUE(take(earlier).failed_with(ErrorCode::kFenced));
  ASSERT_TRUE(run_task(service->close_operation("acct", "op", 5)).has_value());
  later.steps[0].number = 3;
  EXPECT_TRUE(take(later).failed_with(ErrorCode::kFenced));
  EXPECT_EQ(number("r"), 2);
}

TEST_F(TableStepsTest, TheCompanionEndsTheOperationInTheSameCommit) {
  auto steps = deciding("op", "note");
  steps.steps = {{1, "people", "p", adding("r", 2)}};
  steps.companion = Companion{"former", "p", change(kInsert, "record", 1)};
  EXPECT_TRUE(taken(steps).ended);
  EXPECT_TRUE(ledger("op").closed);
  EXPECT_EQ(number("record", "former"), 1);
  steps.fence.operation_id = "other";
  EXPECT_TRUE(take(steps).failed_with(ErrorCode::kEntityAlreadyExists)) << "and with it, the step is not taken";
  EXPECT_EQ(number("r"), 2);
}

TEST_F(TableStepsTest, MarksOfStepsElsewhereAreKept) {
  auto marking = request("op");
  marking.at.reset();
  marking.marks = {4, 7};
  taken(marking);
  taken(marking);
  const auto marks = ledger("op").steps;
  ASSERT_EQ(marks.size(), 2U);
  EXPECT_EQ(marks[1].step, 7U);
}

TEST_F(TableStepsTest, BadRequestsAreRefused) {
  auto bad = request("");
  EXPECT_TRUE(take(bad).failed_with(ErrorCode::kInvalidInput));
  bad = request("op");
  bad.steps = {{0, "people", "p", adding("r", 2)}};
  EXPECT_TRUE(std::holds_alternative<StepFailure>(*take(bad)));
  bad.steps = {{1, "people", "p/", adding("r", 2)}};
  EXPECT_TRUE(std::holds_alternative<StepFailure>(*take(bad)));
  auto both = adding("r", 2);
  both.properties = {{"Number", std::int32_t{1}}};
  bad.steps = {{1, "people", "p", both}};
  EXPECT_TRUE(std::holds_alternative<StepFailure>(*take(bad)));
  auto text = adding("r", 2);
  text.adds = {{"Number", "1"}};
  bad.steps = {{1, "people", "p", text}};
  EXPECT_TRUE(std::holds_alternative<StepFailure>(*take(bad)));
  bad.steps.assign(101, {1, "people", "p", adding("r", 1)});
  EXPECT_TRUE(take(bad).failed_with(ErrorCode::kInvalidInput));
}

}  // namespace
}  // namespace tidemark::table_store
