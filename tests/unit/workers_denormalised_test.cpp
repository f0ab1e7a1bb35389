// The kind `denormalised`: with any writes to either table, lost or repeated calls, in the end each employee has the
// values of its department.
#include <limits>
#include <map>

#include "index_keepers_fixture.h"
#include "indexes/rows/list_piece.h"
#include "jobs/spec/key_template.h"
#include "table_store/model/group_text.h"
#include "table_store/storage/test_switches.h"
#include "workers/indexes/visits.h"

namespace tidemark::workers {
namespace {

using namespace std::chrono_literals;
using table_store::Property;
using table_store::Value;

constexpr const char* kDepartmentNames =
    R"({"kind":"denormalised","source":"Source","destination":"Employees","partitionKey":"{Country}",
        "rowKey":"{DepartmentId}","properties":{"DepartmentName":"Name","Head":"Head"},"scrubPerSecond":100000})";
constexpr const char* kEmptyIfMissing =
    R"({"kind":"denormalised","source":"Source","destination":"Employees","partitionKey":"{Country}",
        "rowKey":"{DepartmentId}","properties":{"DepartmentName":"Name","Head":"Head"},"missing":"empty",
        "filter":"Grade ge 2","scrubPerSecond":100000})";
constexpr const char* kManagers =
    R"({"kind":"denormalised","source":"Employees","destination":"Employees","partitionKey":"{PartitionKey}",
        "rowKey":"{Manager}","properties":{"ManagerName":"Name"},"scrubPerSecond":100000})";

class WorkersDenormalised : public IndexKeepersFixture {
 protected:
  void SetUp() override {
    IndexKeepersFixture::SetUp();
    ASSERT_TRUE(run(tables_.create_table("Employees")).has_value());
  }

  static Mutation put(const std::string& row, std::vector<Property> properties,
                      MutationKind kind = MutationKind::kInsertOrReplace) {
    Mutation mutation;
    mutation.kind = kind;
    mutation.row_key = row;
    mutation.lenient = true;
    if (kind != MutationKind::kErase) mutation.properties = std::move(properties);
    return mutation;
  }
  std::string choice(const std::string& prefix, std::uint64_t of) {
    return prefix + std::to_string(random_->below(of));
  }
  MutationKind kind_of_write() {
    const auto dice = random_->below(6);
    return dice == 0 ? MutationKind::kErase : dice == 1 ? MutationKind::kInsertOrMerge : MutationKind::kInsertOrReplace;
  }
  void write_department() {
    std::vector<Property> properties{{"Name", choice("name", 50)}};
    if (random_->below(2) == 0) properties.push_back({"Head", static_cast<std::int32_t>(random_->below(9))});
    if (random_->below(8) == 0) properties.push_back({"Head2", 1.5});
    write(put(choice("d", 4), std::move(properties), kind_of_write()), choice("c", 2));
  }
  void write_employee() {
    std::vector<Property> properties{{"Grade", static_cast<std::int64_t>(random_->below(4))}};
    properties.push_back({"Name", choice("e", 30)});
    if (random_->below(8) > 0) properties.push_back({"Country", choice("c", 2)});
    if (random_->below(8) > 0) properties.push_back({"DepartmentId", choice("d", 4)});
    if (random_->below(4) > 0) properties.push_back({"Manager", choice("r", 12)});
    if (random_->below(8) == 0) properties.push_back({"DepartmentName", std::string("false")});
    write(put(choice("r", 12), std::move(properties), kind_of_write()), choice("p", 2), "Employees");
  }
  void write_at_random(int writes) {
    for (int i = 0; i < writes; ++i) random_->below(3) == 0 ? write_department() : write_employee();
  }

  /// Returns the employees that differ from a reading of both tables.
  std::vector<std::string> wrong(const Index& index) {
    const auto& definition = index.definition;
    const auto& kind = std::get<indexes::DenormalisedKind>(definition.kind);
    const auto templates = *jobs::parse_key_templates(kind.partition_key, kind.row_key);
    const auto filter = *table_store::Filter::parse(definition.filter);
    std::map<std::pair<std::string, std::string>, Entity> referred;
    for (auto& row : rows_in(definition.source)) referred[{row.partition_key, row.row_key}] = row;
    std::vector<std::string> out;
    for (const auto& employee : rows_in("Employees")) {
      if (!filter.matches(employee)) continue;
      const auto key = jobs::apply_key_templates(templates, employee);
      const auto found = key ? referred.find({key->partition_key, key->row_key}) : referred.end();
      for (const auto& [name, from] : kind.properties) {
        const auto* value = employee.find(name);
        const auto* wanted = found == referred.end() ? nullptr : found->second.find(from);
        static const Value kEmpty = std::string();
        const bool empty = kind.missing == indexes::DenormalisedKind::Missing::kEmpty;
        if (key && found == referred.end() && empty) wanted = &kEmpty;
        if (value == nullptr ? wanted == nullptr : wanted != nullptr && *value == *wanted) continue;
        out.push_back(employee.partition_key + "/" + employee.row_key + " " + name);
      }
    }
    return out;
  }
  void expect_true(const Index& index) {
    wait_until_ready(index);
    EXPECT_EQ(wrong(index), std::vector<std::string>{}) << index.name;
  }
  std::string department_name(const std::string& employee) {
    const auto found = run_beside(tables_.get("Employees", "p0", employee));
    return found && *found ? jobs::property_or<std::string>(**found, "DepartmentName") : std::string();
  }
  /// Writes so many that they are visited by pages.
  void write_large_team(int employees) {
    for (int i = 0; i < employees; i += 100) {
      std::vector<Mutation> some;
      for (int k = i; k < i + 100; ++k) {
        some.push_back(put("e" + std::to_string(k) + std::string(60, 'x'),
                           {{"Country", std::string("c0")}, {"DepartmentId", std::string("d0")}}));
      }
      ASSERT_TRUE(run_beside(tables_.mutate("Employees", "p0", std::move(some), std::nullopt)).has_value());
    }
  }
  void write_team(int employees) {
    for (int i = 0; i < employees; ++i) {
      write(put("e" + std::to_string(i), {{"Country", std::string("c0")}, {"DepartmentId", std::string("d0")}}), "p0",
            "Employees");
    }
  }
};

TEST_F(WorkersDenormalised, FollowBothTables) {
  write_at_random(100);
  const auto names = declare("names", kDepartmentNames);
  start_keeper("w1");
  for (int round = 0; round < 8; ++round) {
    write_at_random(60);
    expect_true(names);
  }
  EXPECT_EQ(progress(names).wrong_ever, 0U);
}

TEST_F(WorkersDenormalised, EmptyValuesOfWhatIsMissing) {
  write_at_random(60);
  const auto names = declare("names", kEmptyIfMissing);
  start_keeper("w1");
  for (int round = 0; round < 5; ++round) {
    write_at_random(60);
    expect_true(names);
  }
  EXPECT_EQ(progress(names).wrong_ever, 0U);
}

TEST_F(WorkersDenormalised, WithinATable) {
  write_at_random(60);
  const auto managers = declare("managers", kManagers);
  const auto names = declare("names", kDepartmentNames);
  start_keeper("w1");
  for (int round = 0; round < 5; ++round) {
    write_at_random(60);
    for (const auto& index : {managers, names}) expect_true(index);
  }
  for (const auto& index : {managers, names}) EXPECT_EQ(progress(index).wrong_ever, 0U);
}

TEST_F(WorkersDenormalised, SurviveLostRequestsAndAnswers) {
  const auto names = declare("names", kDepartmentNames);
  const auto managers = declare("managers", kManagers);
  start_keeper("w1");
  for (int round = 0; round < 5; ++round) {
    write_at_random(50);
    table_link_.before = [&](std::string) -> Task<Result<void>> {
      if (random_->below(8) == 0) co_return fail(ErrorCode::kUnavailable);
      co_return Result<void>{};
    };
    table_link_.lose_reply = [&] { return random_->below(8) == 0; };
    const auto until = clock_->monotonic() + 200ms;
    drive_until([&] { return clock_->monotonic() > until; });
    table_link_.before = nullptr;
    table_link_.lose_reply = nullptr;
    for (const auto& index : {names, managers}) expect_true(index);
  }
}

TEST_F(WorkersDenormalised, ThePositionNeverGoesBackWhenCallsFail) {
  const auto names = declare("names", kDepartmentNames);
  start_keeper("w1");
  wait_until_ready(names);
  table_link_.before = [&](std::string call) -> Task<Result<void>> {
    if (call == "table.find_rows" && random_->below(3) == 0) co_return fail(ErrorCode::kUnavailable);
    co_return Result<void>{};
  };
  auto last = progress(names).position;
  for (int round = 0; round < 30; ++round) {
    write_at_random(5);
    const auto until = clock_->monotonic() + 20ms;
    while (clock_->monotonic() < until) {
      const auto position = progress(names).position;
      ASSERT_GE(position, last) << "round " << round;
      last = position;
    }
  }
  table_link_.before = nullptr;
  expect_true(names);
}

TEST_F(WorkersDenormalised, AnOwnerThatWasReplacedChangesNothing) {
  const auto names = declare("names", kDepartmentNames);
  std::vector<std::shared_ptr<IndexOwner>> owners;
  for (std::uint64_t epoch = 1; epoch <= 8; ++epoch) {
    owners.push_back(IndexOwner::create(index_services(), names, epoch));
    owners.back()->start(io_.get_executor());
    write_at_random(40);
  }
  expect_true(names);
  for (auto& owner : owners) owner->stop();
  for (const auto& owner : owners) drive_until([&] { return owner->ended(); });
}

TEST_F(WorkersDenormalised, NothingIsWrittenOnceValuesAreRight) {
  write(put("d0", {{"Name", std::string("Sales")}, {"Head", std::numeric_limits<double>::quiet_NaN()}}), "c0");
  write_team(5);
  const auto names = declare("names", kDepartmentNames);
  start_keeper("w1");
  wait_until_ready(names);
  const auto versions = [&] {
    std::vector<table_store::Version> out;
    for (const auto& row : rows_in("Employees")) out.push_back(row.version);
    return out;
  };
  const auto before = versions();
  ask("names", {.scrub = true});
  drive_until([&] { return progress(names).scrubs == 1; });
  EXPECT_EQ(versions(), before);
}

TEST_F(WorkersDenormalised, WhatIsNotNamedIsLeftAlone) {
  write(put("d0", {{"Name", std::string("Sales")}}), "c0");
  write(put("e0", {{"Country", std::string("c0")}, {"DepartmentId", std::string("d0")}, {"Phone", std::string("1")}}),
        "p0", "Employees");
  const auto names = declare("names", kDepartmentNames);
  start_keeper("w1");
  drive_until([&] { return department_name("e0") == "Sales"; });
  write(put("d0", {}, MutationKind::kErase), "c0");
  drive_until([&] { return department_name("e0").empty(); });
  wait_until_ready(names);
  const auto employee = run_beside(tables_.get("Employees", "p0", "e0"));
  ASSERT_TRUE(employee && *employee);
  EXPECT_EQ((*employee)->properties.size(), 3U);
  EXPECT_EQ(jobs::property_or<std::string>(**employee, "Phone"), "1");
}

TEST_F(WorkersDenormalised, ValuesOfOneNameDoNotGoRoundInATable) {
  const auto heads = declare("heads", R"({"kind":"denormalised","source":"Employees","destination":"Employees",
      "partitionKey":"{PartitionKey}","rowKey":"{Head}","properties":["Name"]})");
  start_keeper("w1");
  const auto refers = [&](const std::string& row, const std::string& head, const std::string& name) {
    write(put(row, {{"Head", head}, {"Name", name}}), "p0", "Employees");
  };
  const auto name_of = [&](const std::string& row) {
    const auto found = run_beside(tables_.get("Employees", "p0", row));
    return found && *found ? jobs::property_or<std::string>(**found, "Name") : std::string("nobody");
  };
  write(put("root", {{"Name", std::string("Root")}}), "p0", "Employees");
  refers("itself", "itself", "Itself");
  refers("a", "root", "a");
  refers("b", "itself", "b");
  refers("c", "a", "c");
  for (const auto& [row, head] : {std::pair("x", "y"), {"y", "z"}, {"z", "x"}}) refers(row, head, row);
  wait_until_ready(heads);
  EXPECT_EQ(name_of("root"), "Root");
  EXPECT_EQ(name_of("itself"), "Itself");
  EXPECT_EQ(name_of("a"), "Root");
  EXPECT_EQ(name_of("b"), "Itself");
  for (const auto* row : {"c", "x", "y", "z"}) EXPECT_EQ(name_of(row), "") << row;
  refers("root", "a", "Root");
  wait_until_ready(heads);
  EXPECT_EQ(name_of("a"), "") << "a root no more";
}

TEST_F(WorkersDenormalised, ManyAreVisitedByPagesAndTheNextOwnerGoesOn) {
  // Less than the team, so that it is built anew, and more than a piece of the list, whose visit records as many
  // changes.
  const auto text = std::string(kDepartmentNames).insert(1, R"("maxChanges":1500,)");
  const auto names = declare("names", text.c_str());
  write(put("d0", {{"Name", std::string("Sales")}}), "c0");
  start_keeper("w1");
  constexpr int kTeam = 2500;  // several pieces of the list
  write_large_team(kTeam);
  expect_true(names);
  // Three slow pages, and then no more.
  int pages = 0;
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (method != "table.mutate_all") co_return Result<void>{};
    if (++pages > 3) co_return fail(ErrorCode::kUnavailable);
    co_await sleep_for(*clock_, 30ms);
    co_return Result<void>{};
  };
  write(put("d0", {{"Name", std::string("Marketing")}}), "c0");
  const auto visited = [&] {
    std::size_t count = 0;
    for (const auto& row : rows_in("Employees")) {
      if (jobs::property_or<std::string>(row, "DepartmentName") == "Marketing") ++count;
    }
    return count;
  };
  drive_until([&] { return progress(names).visits.contains("keys_"); });
  drive_until([&] { return pages > 3; });
  run_beside(keepers_.back()->stop());
  table_link_.before = nullptr;
  EXPECT_GT(visited(), 0U);
  EXPECT_LT(visited(), static_cast<std::size_t>(kTeam));
  EXPECT_FALSE(caught_up(names)) << "what is not visited counts as waiting";
  start_keeper("w2");
  expect_true(names);
  EXPECT_EQ(visited(), static_cast<std::size_t>(kTeam));
}

TEST_F(WorkersDenormalised, AChangeOfWhatIsNotNamedReachesNobody) {
  constexpr int kTeam = 2500;
  constexpr int kReadsOfTeam = kTeam / 500;
  auto text = std::string(kDepartmentNames);
  text.replace(text.find("100000"), 6, "1");  // otherwise scrubs read them
  write(put("d0", {{"Name", std::string("Sales")}}), "c0");
  write_large_team(kTeam);
  const auto names = declare("names", text.c_str());
  start_keeper("w1");
  expect_true(names);
  std::map<std::string, int> calls;
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    ++calls[method];
    co_return Result<void>{};
  };
  const auto before = progress(names).changes;
  for (int floor = 1; floor <= 3; ++floor) {
    write(put("d0", {{"Floor", floor}}, MutationKind::kInsertOrMerge), "c0");
    wait_until_ready(names);
  }
  drive_until([&] { return progress(names).changes == before + 3; });
  EXPECT_LT(calls["table.find_rows"], kReadsOfTeam) << "all who refer to it were looked at";
  EXPECT_EQ(calls["table.mutate_all"], 0);
  calls.clear();
  write(put("d0", {{"Name", std::string("Marketing")}}, MutationKind::kInsertOrMerge), "c0");
  expect_true(names);
  EXPECT_GE(calls["table.find_rows"], kReadsOfTeam);
  EXPECT_GE(calls["table.mutate_all"], 1);
  table_link_.before = nullptr;
}

TEST_F(WorkersDenormalised, WithinATableAChangeOfWhatIsNotNamedReachesNobody) {
  constexpr int kTeam = 2500;
  constexpr int kReadsOfTeam = kTeam / 500;
  auto text = std::string(R"({"kind":"denormalised","source":"Employees","destination":"Employees","scrubPerSecond":1,
      "partitionKey":"{PartitionKey}","rowKey":"{DepartmentId}","properties":{"DepartmentName":"Name"}})");
  write(put("d0", {{"Name", std::string("Sales")}}), "p0", "Employees");
  write_large_team(kTeam);
  const auto names = declare("names", text.c_str());
  start_keeper("w1");
  expect_true(names);
  int reads = 0;
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (method == "table.find_rows") ++reads;
    co_return Result<void>{};
  };
  write(put("d0", {{"Floor", 1}}, MutationKind::kInsertOrMerge), "p0", "Employees");
  wait_until_ready(names);
  EXPECT_LT(reads, kReadsOfTeam);
  write(put("d0", {{"Name", std::string("Marketing")}}, MutationKind::kInsertOrMerge), "p0", "Employees");
  expect_true(names);
  EXPECT_GE(reads, kReadsOfTeam);
  table_link_.before = nullptr;
}

TEST_F(WorkersDenormalised, LoseTheirValuesWhenTheReferredTableIsDropped) {
  write(put("d0", {{"Name", std::string("Sales")}}), "c0");
  write_team(3);
  const auto names = declare("names", kDepartmentNames);
  start_keeper("w1");
  drive_until([&] { return department_name("e2") == "Sales"; });
  ASSERT_TRUE(run_beside(tables_.delete_table("Source")).has_value());
  drive_until([&] { return department_name("e0").empty() && department_name("e2").empty(); });
  expect_true(names);
  ASSERT_TRUE(run_beside(tables_.create_table("Source")).has_value());
  write_at_random(40);
  expect_true(names);
  ASSERT_TRUE(run_beside(tables_.delete_table("Employees")).has_value());
  drive_until([&] { return caught_up(names); });
  EXPECT_FALSE(*run_beside(tables_.table_exists("Employees"))) << "an index made the table again";
  ASSERT_TRUE(run_beside(tables_.create_table("Employees")).has_value());
  write_at_random(40);
  expect_true(names);
}

TEST_F(WorkersDenormalised, AScrubFindsWhatTheLogDoesNotKnow) {
  write(put("d0", {{"Name", std::string("Sales")}}), "c0");
  write_team(10);
  const auto names = declare("names", kDepartmentNames);
  start_keeper("w1");
  expect_true(names);
  table_store::test_switches().leave_out_notes = true;
  write(put("e3", {{"DepartmentName", std::string("false")}}, MutationKind::kInsertOrMerge), "p0", "Employees");
  write(put("e5", {{"DepartmentName", std::string("false")}}, MutationKind::kInsertOrMerge), "p0", "Employees");
  table_store::test_switches().leave_out_notes = false;
  ask("names", {.scrub = true});
  drive_until([&] { return progress(names).scrubs == 1; });
  EXPECT_EQ(progress(names).wrong, 2U);
  expect_true(names);
  ask("names", {.scrub = true});
  drive_until([&] { return progress(names).scrubs == 2; });
  EXPECT_EQ(progress(names).wrong, 0U);
}

TEST_F(WorkersDenormalised, KeepTheirListsInOrder) {
  const auto names = declare("names", kDepartmentNames);
  write(put("d0", {{"Name", std::string("Sales")}}), "c0");
  write_team(4);
  start_keeper("w1");
  expect_true(names);
  const auto lists = [&] {
    auto rows = rows_in("TidemarkIndexes");
    std::erase_if(rows, [](const Entity& row) { return !row.partition_key.starts_with("references "); });
    return rows;
  };
  ASSERT_EQ(lists().size(), 1U);
  EXPECT_EQ(indexes::read_piece(lists().front())->entries.size(), 4U);
  write(put(lists().front().row_key, {}, MutationKind::kErase), lists().front().partition_key, "TidemarkIndexes");
  ask("names", {.scrub = true});
  drive_until([&] { return progress(names).scrubs == 1; });
  EXPECT_EQ(progress(names).wrong, 4U);
  write(put("d0", {{"Name", std::string("Marketing")}}), "c0");
  expect_true(names);
  ask("names", {.drop = true});
  drive_until([&] { return !run_beside(store_.find("names"))->has_value(); });
  EXPECT_TRUE(lists().empty());
  EXPECT_TRUE(run_beside(tables_.followers("Source"))->empty());
  EXPECT_TRUE(run_beside(tables_.followers("Employees"))->empty());
  EXPECT_EQ(department_name("e0"), "Marketing") << "they are the user's";
}

TEST_F(WorkersDenormalised, AnEntityWithoutRoomIsCounted) {
  const auto names = declare("names", kDepartmentNames);
  write(put("d0", {{"Name", std::string("Sales")}}), "c0");
  write_team(2);
  std::vector<Property> full{{"Country", std::string("c0")}, {"DepartmentId", std::string("d0")}};
  while (full.size() < 252) full.push_back({"P" + std::to_string(full.size()), std::int32_t{1}});
  write(put("full", std::move(full)), "p0", "Employees");
  start_keeper("w1");
  drive_until([&] { return department_name("e1") == "Sales"; });
  wait_until_ready(names);
  EXPECT_EQ(progress(names).in_the_way, 1U);
  EXPECT_NE(progress(names).in_the_way_examples.find("Employees/p0/full"), std::string::npos);
}

ChangedEntity changed(const std::string& row) { return {"p", row, {}, {}}; }

TEST(IndexVisits, AreForChangesThatConcernOthers) {
  const std::vector<std::string> taken{"Head", "Name"};
  using Properties = std::vector<Property>;
  const Properties sales{{"Name", std::string("Sales")}}, other{{"Name", std::string("Other")}};
  const auto concerns = [&](std::vector<Properties> before, const Properties& now, bool appeared = false) {
    ChangedEntity entity{"c0", "d0", std::move(before), Entity{}, appeared};
    entity.now->properties = now;
    return concerns_others(entity, taken);
  };
  auto renovated = sales;
  renovated.push_back({"Floor", std::int32_t{3}});
  EXPECT_FALSE(concerns({sales}, renovated));
  EXPECT_FALSE(concerns({{}}, {{"Floor", std::int32_t{3}}}));
  EXPECT_TRUE(concerns({sales}, other));
  EXPECT_TRUE(concerns({sales, other}, sales)) << "somebody may have been told the other";
  EXPECT_TRUE(concerns({sales}, {})) << "removed";
  EXPECT_TRUE(concerns({{}}, sales)) << "new";
  EXPECT_TRUE(concerns({sales}, sales, true)) << "it was away";
  EXPECT_TRUE(concerns({{{"Head", std::int32_t{1}}}}, {{"Head", std::int64_t{1}}})) << "of another type";
  const Properties no_number{{"Head", std::numeric_limits<double>::quiet_NaN()}};
  EXPECT_FALSE(concerns({no_number}, no_number));
  EXPECT_TRUE(concerns_others({"c0", "d0", {sales}, {}}, taken)) << "gone";
}

table_store::Position at(table_store::Version version) { return {{version}}; }

TEST(IndexVisits, AreOnceMoreForWhatChangedMeanwhile) {
  Visits visits;
  visits.add({changed("a"), changed("b")}, {}, at(10));
  EXPECT_EQ(visits.reached(at(12)), at(10));
  auto next = visits.next();
  ASSERT_EQ(next.size(), 2U);
  next[0].at = "half";
  next[1].done = true;
  visits.done(std::move(next));
  visits.add({changed("a")}, {}, at(12));
  EXPECT_EQ(visits.reached(at(15)), at(10));

  Visits taken_over;
  EXPECT_EQ(taken_over.read(visits.text(at(15))), at(15));
  next = taken_over.next();
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].at, "half");
  next[0].done = true;
  taken_over.done(std::move(next));
  EXPECT_EQ(taken_over.reached(at(15)), at(12));
  next = taken_over.next();
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].at, "");
  next[0].done = true;
  taken_over.done(std::move(next));
  EXPECT_TRUE(taken_over.empty());
  EXPECT_EQ(taken_over.reached(at(15)), at(15));
}

TEST(IndexVisits, AreBehindAPositionOnEachShard) {
  Visits visits;
  visits.add({changed("a")}, {}, {{5, 20}});
  visits.add({changed("b")}, {}, {{9, 10}});
  EXPECT_EQ(visits.reached({{30, 30}}), (table_store::Position{{5, 10}}));
  Visits taken_over;
  EXPECT_EQ(taken_over.read(visits.text({{30, 31}})), (table_store::Position{{30, 31}}));
  EXPECT_EQ(taken_over.reached({{30, 31}}), (table_store::Position{{5, 10}}));
}

TEST(IndexVisits, OfOneShardAreWrittenAsTheyAlwaysWere) {
  Visits visits;
  visits.add({changed("a")}, {}, at(5));
  EXPECT_EQ(visits.text(at(9)), R"({"position":9,"waiting":[["p","a","",5,0]]})");
}

TEST(IndexVisits, TooManyForAPropertyAreReadAgain) {
  Visits visits;
  std::vector<ChangedEntity> many;
  for (int i = 0; i < 120; ++i) many.push_back(changed(std::string(500, 'x') + std::to_string(i)));
  visits.add(many, {}, at(7));
  EXPECT_TRUE(visits.full());
  Visits taken_over;
  EXPECT_EQ(taken_over.read(visits.text(at(9))), at(7));
  EXPECT_TRUE(taken_over.empty());
}

}  // namespace
}  // namespace tidemark::workers
