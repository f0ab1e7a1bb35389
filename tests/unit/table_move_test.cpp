// Moves of single entities: all of a move happens, or nothing.
#include "table_fixture.h"

namespace tidemark::table_store {
namespace {

using enum MutationKind;

struct TableMoveTest : TableFixture {
  void SetUp() override {
    for (const auto* table : {"people", "former", "notes"}) create(table);
  }
  static Mutation change(MutationKind kind, std::string row, std::int32_t number) {
    Mutation mutation;
    mutation.kind = kind;
    mutation.row_key = std::move(row);
    mutation.properties = {{"Number", number}};
    return mutation;
  }
  Version put(const std::string& table, const std::string& row, std::int32_t number) {
    std::vector<Mutation> changes{change(kInsertOrReplace, row, number)};
    auto done = run_task(service->mutate("acct", table, "p", std::move(changes), std::nullopt));
    EXPECT_TRUE(done.has_value());
    return done ? done->outcomes[0].version : 0;
  }
  std::optional<Entity> find(const std::string& table, const std::string& row) {
    auto found = service->get("acct", table, "p", row);
    EXPECT_TRUE(found.has_value());
    return found ? *found : std::nullopt;
  }
  static Move move_of(std::string row, std::string operation) {
    Move move{"people", "former", "p", std::move(row), false, {std::move(operation), 1, "done"}, std::nullopt};
    return move;
  }
  static Move with_note(Move move, Mutation note) {
    move.companion = Companion{"notes", "p", std::move(note)};
    return move;
  }
  std::vector<Result<void>> run_moves(std::vector<Move> moves) {
    auto done = run_task(service->move_all("acct", std::move(moves)));
    EXPECT_TRUE(done.has_value());
    return done ? std::move(*done) : std::vector<Result<void>>{};
  }
  OperationLedger ledger(const std::string& operation) {
    auto read = run_task(service->read_operation("acct", operation));
    EXPECT_TRUE(read.has_value());
    return read ? *read : OperationLedger{};
  }
};

TEST_F(TableMoveTest, TheCopyThatAnotherOperationLeftBecomesItsOwn) {
  const auto version = put("people", "r", 7);
  auto copy = change(kInsertOrReplace, "r", 7);
  copy.source_version = version;
  std::vector<Mutation> changes{copy};
  ASSERT_TRUE(run_task(service->mutate("acct", "former", "p", std::move(changes), Fence{"other", 1, ""})).has_value());
  const auto left = find("former", "r");
  ASSERT_EQ(left->operation, "other");
  ASSERT_TRUE(run_moves({move_of("r", "op")})[0].has_value());
  const auto now = find("former", "r");
  ASSERT_TRUE(now.has_value());
  EXPECT_EQ(now->operation, "op");
  EXPECT_EQ(now->source_version, version);
  EXPECT_GT(now->version, left->version) << "whoever would take the copy back notices";
  EXPECT_EQ(std::get<std::int32_t>(*now->find("Number")), 7);
}

TEST_F(TableMoveTest, MovesTheEntityAndEndsItsOperation) {
  const auto version = put("people", "r", 7);
  const auto outcomes = run_moves({with_note(move_of("r", "op"), change(kInsert, "note", 1))});
  ASSERT_EQ(outcomes.size(), 1U);
  ASSERT_TRUE(outcomes[0].has_value()) << outcomes[0].error().message;
  EXPECT_FALSE(find("people", "r"));
  const auto copy = find("former", "r");
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(copy->source_version, version);
  EXPECT_GT(copy->version, version);
  EXPECT_EQ(copy->operation, "op");
  EXPECT_EQ(std::get<std::int32_t>(*copy->find("Number")), 7);
  EXPECT_TRUE(find("notes", "note"));
  EXPECT_TRUE(ledger("op").closed);
  EXPECT_EQ(ledger("op").counter("done"), 1U);
}

TEST_F(TableMoveTest, WithoutADestinationTheEntityIsRemoved) {
  put("people", "r", 7);
  auto gone = move_of("r", "op");
  gone.destination.clear();
  auto missing = move_of("nobody", "other");
  missing.destination.clear();
  const auto outcomes = run_moves({with_note(gone, change(kInsert, "note", 1)), missing});
  ASSERT_TRUE(outcomes[0].has_value()) << outcomes[0].error().message;
  EXPECT_TRUE(outcomes[1].failed_with(ErrorCode::kResourceNotFound));
  EXPECT_FALSE(find("people", "r"));
  EXPECT_FALSE(find("former", "r"));
  EXPECT_TRUE(find("notes", "note"));
  EXPECT_TRUE(ledger("op").closed);
  EXPECT_EQ(ledger("op").counter("done"), 1U);
  EXPECT_FALSE(ledger("other").closed);
}

TEST_F(TableMoveTest, ARepeatedMoveIsFencedAndTakesNothing) {
  put("people", "r", 7);
  ASSERT_TRUE(run_moves({move_of("r", "op")})[0].has_value());
  put("people", "r", 8);
  EXPECT_TRUE(run_moves({move_of("r", "op")})[0].failed_with(ErrorCode::kFenced));
  EXPECT_TRUE(find("people", "r"));
  EXPECT_EQ(ledger("op").counter("done"), 1U);
}

TEST_F(TableMoveTest, NothingHappensIfTheCompanionIsRefused) {
  put("people", "r", 7);
  put("notes", "note", 1);
  auto stale = change(kReplace, "note", 2);
  stale.if_version = 1;
  const auto outcomes = run_moves(
      {with_note(move_of("r", "a"), change(kInsert, "note", 1)), with_note(move_of("r", "b"), std::move(stale))});
  EXPECT_TRUE(outcomes[0].failed_with(ErrorCode::kEntityAlreadyExists));
  EXPECT_TRUE(outcomes[1].failed_with(ErrorCode::kUpdateConditionNotSatisfied));
  EXPECT_TRUE(find("people", "r"));
  EXPECT_FALSE(find("former", "r"));
  EXPECT_FALSE(ledger("a").closed);
  EXPECT_EQ(ledger("b").counter("done"), 0U);
}

TEST_F(TableMoveTest, EachIsJudgedByItself) {
  put("people", "here", 1);
  put("people", "blocked", 1);
  put("former", "blocked", 2);  // newer, and put there directly
  auto elsewhere = move_of("here", "c");
  elsewhere.destination = "nowhere";
  const auto outcomes = run_moves({move_of("gone", "a"), move_of("blocked", "b"), elsewhere, move_of("here", "d")});
  EXPECT_TRUE(outcomes[0].failed_with(ErrorCode::kResourceNotFound));
  EXPECT_TRUE(outcomes[1].failed_with(ErrorCode::kUpdateConditionNotSatisfied));
  EXPECT_TRUE(outcomes[2].failed_with(ErrorCode::kTableNotFound));
  EXPECT_TRUE(outcomes[3].has_value());
  EXPECT_TRUE(find("people", "blocked"));
  EXPECT_EQ(std::get<std::int32_t>(*find("former", "blocked")->find("Number")), 2);
}

TEST_F(TableMoveTest, WhatIsNoCopyIsInTheWayHoweverOld) {
  put("former", "r", 2);
  put("people", "r", 1);
  EXPECT_TRUE(run_moves({move_of("r", "a")})[0].failed_with(ErrorCode::kUpdateConditionNotSatisfied));
  EXPECT_TRUE(find("people", "r"));
  EXPECT_EQ(std::get<std::int32_t>(*find("former", "r")->find("Number")), 2);
}

TEST_F(TableMoveTest, ACopyOfAnOlderVersionGivesWay) {
  put("people", "r", 1);
  ASSERT_TRUE(run_moves({move_of("r", "first")})[0].has_value());
  const auto version = put("people", "r", 2);
  ASSERT_TRUE(run_moves({move_of("r", "second")})[0].has_value());
  EXPECT_EQ(find("former", "r")->source_version, version);
}

TEST_F(TableMoveTest, WhatComesBackCarriesTheVersionItHad) {
  const auto version = put("people", "r", 1);
  ASSERT_TRUE(run_moves({move_of("r", "there")})[0].has_value());
  auto back = move_of("r", "back");
  std::swap(back.source, back.destination);
  back.back = true;
  ASSERT_TRUE(run_moves({back})[0].has_value());
  EXPECT_EQ(find("people", "r")->source_version, version);
  EXPECT_FALSE(find("people", "r")->is_copy());
  EXPECT_FALSE(find("former", "r"));
  // A newer entity stays, and so does the archived copy.
  ASSERT_TRUE(run_moves({move_of("r", "there again")})[0].has_value());
  put("people", "r", 3);
  back.fence.operation_id = "back again";
  EXPECT_TRUE(run_moves({back})[0].failed_with(ErrorCode::kUpdateConditionNotSatisfied));
  EXPECT_TRUE(find("former", "r"));
}

TEST_F(TableMoveTest, TravelsThroughTheClient) {
  put("people", "r", 1);
  struct Loopback final : rpc::Transport {
    explicit Loopback(rpc::Dispatch d) : dispatch(std::move(d)) {}
    Task<Result<std::string>> call(std::string method, std::string payload, Duration) override {
      co_return co_await dispatch(std::move(method), std::move(payload));
    }
    rpc::Dispatch dispatch;
  } loopback(make_table_dispatch(*service));
  TableClient client(loopback, "acct");
  const auto outcomes =
      run_task(client.move_all({with_note(move_of("r", "a"), change(kInsert, "note", 5)), move_of("r", "b")}));
  ASSERT_TRUE(outcomes.has_value());
  EXPECT_TRUE((*outcomes)[0].has_value());
  EXPECT_TRUE((*outcomes)[1].failed_with(ErrorCode::kResourceNotFound));
  const auto rows = run_task(client.get_all("notes", "p", {"note", "none"}));
  ASSERT_TRUE(rows.has_value());
  ASSERT_TRUE((*rows)[0].has_value());
  EXPECT_EQ(std::get<std::int32_t>(*(*rows)[0]->find("Number")), 5);
  EXPECT_FALSE((*rows)[1]);
  EXPECT_TRUE(run_task(client.move_all({})).failed_with(ErrorCode::kInvalidInput));
}

}  // namespace
}  // namespace tidemark::table_store
