// Rules: which changes make jobs, and which jobs those are.
#include "feeds/on_change/rule.h"

#include <gtest/gtest.h>

#include "feeds/on_change/on_change.h"
#include "jobs/spec/cause.h"

namespace tidemark::feeds {
namespace {

using nlohmann::json;
using table_store::Change;
using table_store::ChangeKind;
using table_store::Filter;
using table_store::Property;

Rule rule_of(const json& job) {
  Rule rule;
  rule.job = job;
  return rule;
}

/// A change of the entity (p, r) that has these properties before and after it; nothing: it did not exist.
Change change_of(std::optional<std::vector<Property>> before, std::optional<std::vector<Property>> after) {
  Change out;
  out.kind = !before ? ChangeKind::kInsert : !after ? ChangeKind::kDelete : ChangeKind::kReplace;
  out.version = 5;
  out.partition_key = "p";
  out.row_key = "r'1";
  out.before = std::move(before);
  out.after = std::move(after);
  return out;
}

std::vector<Property> paid(bool is_paid) { return {{"State", std::string(is_paid ? "paid" : "open")}}; }

TEST(Rule, IsAboutWhatEntersLeavesOrMatches) {
  const auto filter = *Filter::parse("State eq 'paid'");
  struct Case {
    Change change;
    bool matches, enters, leaves;
  };
  const Case cases[] = {
      {change_of({}, paid(true)), true, true, false},           {change_of({}, paid(false)), false, false, false},
      {change_of(paid(false), paid(true)), true, true, false},  {change_of(paid(true), paid(true)), true, false, false},
      {change_of(paid(true), paid(false)), false, false, true}, {change_of(paid(true), {}), true, false, true},
      {change_of(paid(false), {}), false, false, false},
  };
  for (const auto& each : cases) {
    EXPECT_EQ(concerns(When::kMatches, filter, each.change), each.matches);
    EXPECT_EQ(concerns(When::kEnters, filter, each.change), each.enters);
    EXPECT_EQ(concerns(When::kLeaves, filter, each.change), each.leaves);
  }
}

TEST(Rule, PassesByItsOwnChangesOrStopsBeyondItsHops) {
  auto rule = rule_of({{"kind", "merge"}});
  const auto filter = *Filter::parse("");
  auto change = change_of({}, paid(true));
  const auto makes = [&] { return makes_job(rule, When::kMatches, "a-1", filter, change); };
  EXPECT_TRUE(*makes());
  change.cause = "b-1,c-1";
  EXPECT_TRUE(*makes());
  change.cause = "a-1,b-1";
  EXPECT_FALSE(*makes());
  rule.hops = 1;
  EXPECT_TRUE(*makes());
  change.cause = "a-1,b-1,a-1";
  EXPECT_TRUE(makes().failed_with(ErrorCode::kInvalidInput));
  change.cause.clear();
  for (std::size_t i = 0; i < jobs::kMostHops; ++i) change.cause = jobs::longer_chain(change.cause, "x-1");
  EXPECT_TRUE(makes().failed_with(ErrorCode::kInvalidInput)) << "a chain has an end even if no rule comes twice";
  change.kind = ChangeKind::kDrop;
  EXPECT_FALSE(*makes());
}

TEST(Rule, FillsInAJobWithTypesAndQuotes) {
  const auto rule = rule_of({{"kind", "copy"},
                             {"source", "{new.Table}"},
                             {"destination", "Copies"},
                             {"filter", "Name eq '{new.Name}' and RowKey eq '{old.RowKey}'"},
                             {"rowKeyTemplate", "{RowKey}-{change.version}-{{x}}"},
                             {"maxAttempts", "{new.Tries}"}});
  const auto change =
      change_of(std::vector<Property>{},
                std::vector<Property>{{"Table", std::string("Things")}, {"Name", std::string("O'Hara")}, {"Tries", 7}});
  const auto job = job_for(rule, "Orders", change);
  ASSERT_TRUE(job) << job.error().message;
  const auto& copy = std::get<jobs::CopySpec>(job->work);
  EXPECT_EQ(copy.source, "Things");
  EXPECT_EQ(copy.filter, "Name eq 'O''Hara' and RowKey eq 'r''1'");
  EXPECT_EQ(copy.row_key_template, "{RowKey}-5-{{x}}");
  EXPECT_EQ(job->max_attempts, 7U);
}

TEST(Rule, GivesATransactionTheValuesBesideItsTemplates) {
  const auto rule = rule_of(json::parse(R"({"kind":"transaction","key":"{new.Customer}",
        "guards":[{"as":"o","table":"Orders","partitionKey":"{new.PartitionKey}","rowKey":"{new.RowKey}"}],
        "steps":[{"merge":{"of":"o","set":{"Note":"{new.Note} of {o.Customer}"}}},
                 {"merge":{"table":"Sums","partitionKey":"{new.Customer}","rowKey":"r","add":{"Cents":"{new.Cents}"}}}]})"));
  const auto change = change_of(std::nullopt, std::vector<Property>{{"Customer", std::string("c7")},
                                                                    {"Note", std::string("{o.Cents} in braces")},
                                                                    {"Cents", std::int64_t{5}}});
  const auto job = job_for(rule, "Orders", change);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->key, "c7");
  const auto values = std::get<jobs::TransactionSpec>(job->work).values_before_guards("j");
  EXPECT_EQ(std::get<std::int64_t>(values.at({"new", "Cents"})), 5);
  EXPECT_EQ(std::get<std::string>(values.at({"new", "Note"})), "{o.Cents} in braces") << "a value is no template";
  const auto again = jobs::parse_stored_spec(canonical_text(*job));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *job);
}

TEST(Rule, CannotMakeAJobWithoutAProperty) {
  const auto rule = rule_of({{"kind", "delete"}, {"source", "{new.Elsewhere}"}, {"wholeTable", true}});
  const auto job = job_for(rule, "Orders", change_of({}, paid(true)));
  ASSERT_TRUE(job.failed_with(ErrorCode::kJobInvalid));
  EXPECT_NE(job.error().message.find("{new.Elsewhere}"), std::string::npos);
  EXPECT_TRUE(sample_of(rule, "Orders")) << "the property may be there";
}

TEST(Rule, IsCheckedWhenItIsDeclared) {
  const auto problems_of = [](std::string_view text) {
    const auto parsed = parse_on_change(text);
    if (!parsed) return parsed.error().message;
    const auto sample = sample_of(*parsed->definition.rule, "Orders");
    return sample ? std::string() : sample.error().message;
  };
  EXPECT_EQ(problems_of(R"({"job":{"kind":"delete","source":"{new.T}","filter":"A eq '{new.B}'"}})"), "");
  EXPECT_EQ(problems_of(R"({"job":{"kind":"delete","source":"T1x","filter":"","maxAttempts":"{new.N}"},"hops":2,
                            "when":"leaves","order":"none","collapse":true,"limits":{"perSecond":5,"perDay":10}})"),
            "");
  for (const auto* bad : {R"({"job":{}})", R"({"job":1})", R"({"job":{"kind":"delete"},"queue":"q-1"})",
                          R"({"hops":1,"queue":"q-1"})", R"({"job":{"kind":"delete","idempotencyKey":"x"}})",
                          R"({"job":{"kind":"delete","source":"Tab"}})", R"({"job":{"kind":"nothing","source":"Tab"}})",
                          R"({"job":{"kind":"merge","source":"Tab","filter":"","set":{"A":"{change.size}"}}})",
                          R"({"job":{"kind":"delete","source":"Tab","filter":""},"limits":{"perSecond":0}})",
                          R"({"job":{"kind":"delete","source":"Tab","filter":""},"when":"sometimes"})",
                          R"({"job":{"kind":"delete","source":"Tab","filter":""},"order":"none","ifPoison":"hold"})",
                          R"({"job":{"kind":"resize","version":1,"input":1},"ifPoison":"hold"})",
                          R"({"queue":"q-1","ifPoison":"pass"})"}) {
    EXPECT_NE(problems_of(bad), "") << bad;
  }
}

TEST(Rule, IsReadAndWritten) {
  const auto text = R"({"job":{"kind":"delete","source":"Tab","filter":"A eq '{new.B}'"},"hops":2,"when":"leaves",
                        "order":"partition","ifPoison":"hold","collapse":true,"limits":{"waiting":5}})";
  const auto definition = parse_on_change(text)->definition;
  const auto again = parse_on_change_definition(to_json(definition));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, definition);
  EXPECT_EQ(parse_on_change(R"({"job":{"kind":"delete","source":"Tab","filter":""}})")->definition.when, When::kEnters);
  EXPECT_EQ(parse_on_change(R"({"queue":"things"})")->definition.when, When::kMatches);
}

TEST(Rule, LanesKeepTheOrderOfEntitiesOrPartitions) {
  const auto one = change_of({}, paid(true));
  auto other = one;
  other.row_key = "s";
  EXPECT_NE(lane_of(Order::kEntity, one), lane_of(Order::kEntity, other));
  EXPECT_EQ(lane_of(Order::kPartition, one), lane_of(Order::kPartition, other));
  EXPECT_EQ(lane_of(Order::kNone, one), "");
}

TEST(Cause, IsCarriedByMessagesAndNeverSubmitted) {
  auto spec = *jobs::parse_job_spec(R"({"kind":"delete","source":"Tab","filter":""})");
  spec.cause =
      jobs::Cause{.rule = "Tab/ship", .change = "c1", .shard = 2, .version = 77, .chain = "ship-1,pay-2", .lane = "l"};
  const auto again = jobs::parse_stored_spec(canonical_text(spec));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, spec);
  EXPECT_EQ(jobs::chain_of(*again), "ship-1,pay-2");
  EXPECT_TRUE(jobs::parse_job_spec(canonical_text(spec)).failed_with(ErrorCode::kJobInvalid));
  EXPECT_EQ(jobs::mark_of_rule("a-long-name-of-a-rule", "a-long-name-of-a-rule-0123456789"),
            "a-long-name-of-a-01234567");
  EXPECT_EQ(jobs::marks_in("a-1,b-2").size(), 2U);
  EXPECT_TRUE(jobs::marks_in("").empty());
}

}  // namespace
}  // namespace tidemark::feeds
