#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "common/base/encoding.h"
#include "common/base/xml_text.h"
#include "jobs/spec/job_spec.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(JobSpec, ReadsAnArchiveOfOneEntityWithDefaults) {
  auto spec =
      parse_job_spec(R"({"kind":"archive","source":"Packages","destination":"Old","partitionKey":"p","rowKey":""})");
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  const auto& work = std::get<ArchiveSpec>(spec->work);
  EXPECT_EQ(work.entity, (EntityKey{"p", ""}));
  EXPECT_FALSE(work.filter.has_value());
  EXPECT_EQ(spec->max_attempts, 5U);
}

TEST(JobSpec, AFilterMustBeGivenExplicitly) {
  EXPECT_TRUE(parse_job_spec(R"({"kind":"archive","source":"Aaa","destination":"Bbb","filter":""})").has_value());
  auto none = parse_job_spec(R"({"kind":"archive","source":"Aaa","destination":"Bbb"})");
  ASSERT_TRUE(none.failed_with(ErrorCode::kJobInvalid));
  EXPECT_FALSE(parse_job_spec(
                   R"({"kind":"archive","source":"Aaa","destination":"Bbb","filter":"","partitionKey":"","rowKey":""})")
                   .has_value());
}

TEST(JobSpec, ListsEveryProblemAtOnce) {
  auto spec = parse_job_spec(
      R"({"kind":"archive","source":"1x","destination":7,"rowKey":"a/b","maxAttempts":0,"colour":"red"})");
  ASSERT_TRUE(spec.failed_with(ErrorCode::kJobInvalid));
  const auto& text = spec.error().message;
  for (const char* part : {"source", "destination", "partitionKey is missing", "rowKey", "maxAttempts", "'colour'"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_EQ(spec.error().fields.size(), 6U);
}

TEST(JobSpec, PropertyNamesHaveCharactersAndNotBytes) {
  const auto by = [](int times) {
    std::string name;
    for (int i = 0; i < times; ++i) name += "é";
    return parse_job_spec(R"({"kind":"index","source":"Aaa","destination":"Bbb","property":")" + name + "\"}");
  };
  EXPECT_TRUE(by(130));
  EXPECT_TRUE(by(255));
  EXPECT_FALSE(by(256));
}

TEST(JobSpec, ANumberThatIsTooLargeIsNamed) {
  const auto spec =
      parse_job_spec(R"({"kind":"delete","source":"Aaa","filter":"","maxAffected":18446744073709551616})");
  ASSERT_TRUE(spec.failed_with(ErrorCode::kJobInvalid));
  EXPECT_THAT(spec.error().message, HasSubstr("maxAffected: the number 18446744073709551616 is too large"));
}

TEST(JobSpec, WhatAProblemQuotesEndsWithAWholeCharacter) {
  const auto spec =
      parse_job_spec(R"({"kind":"delete","source":"Aaa","filter":"",")" + std::string(63, 'x') + "é\":1}");
  ASSERT_TRUE(spec.failed_with(ErrorCode::kJobInvalid));
  EXPECT_TRUE(is_valid_utf8(spec.error().message)) << spec.error().message;
}

TEST(JobSpec, RefusesOneTableForBothWhateverItsCase) {
  EXPECT_FALSE(parse_job_spec(R"({"kind":"archive","source":"Abc","destination":"aBC","filter":""})").has_value());
  EXPECT_FALSE(parse_job_spec(R"({"kind":"index","source":"Abc","destination":"aBC","property":"P"})").has_value());
}

TEST(JobSpec, RefusesTidemarksOwnTables) {
  for (const std::string table :
       {"tidemarkjobs", "TidemarkAudit", "TidemarkConsumers", "TidemarkOnChange", "TIDEMARKx"}) {
    EXPECT_FALSE(parse_job_spec(R"({"kind":"delete","wholeTable":true,"source":")" + table + "\"}")) << table;
    EXPECT_FALSE(parse_job_spec(R"({"kind":"copy","source":"Abc","filter":"","destination":")" + table + "\"}"))
        << table;
  }
  EXPECT_TRUE(parse_job_spec(R"({"kind":"delete","source":"MyTidemark","wholeTable":true})"));
}

TEST(JobSpec, TimesAreThoseThatARecordCanHold) {
  const auto at = [](const std::string& time, const char* kind = R"("delete","source":"Aaa","filter":"")") {
    return parse_job_spec(std::string(R"({"kind":)") + kind + R"(,"notBefore":")" + time + "\"}");
  };
  for (const char* time : {"1500-01-01T00:00:00Z", "0001-01-01", "1600-12-31T23:59:59.9999999Z"}) {
    const auto refused = at(time);
    ASSERT_TRUE(refused.failed_with(ErrorCode::kJobInvalid)) << time;
    EXPECT_THAT(refused.error().message, HasSubstr("notBefore must be a time of the years 1601 to 9999"));
  }
  EXPECT_FALSE(at("9999-12-31T23:59:59-01:00"));
  EXPECT_TRUE(at("1601-01-01T00:00:00Z"));
  EXPECT_TRUE(at("9999-12-31T23:59:59.9999999Z"));
  const auto then = at("2030-01-01", R"("delete","source":"Aaa","filter":"","then":{"kind":"delete","source":"Aaa",
      "filter":"","notBefore":"1500-01-01"})");
  ASSERT_FALSE(then);
  EXPECT_THAT(then.error().message, HasSubstr("then: notBefore must be a time of the years"));
}

/// Returns a merge whose canonical text has so many bytes.
std::string merge_of(std::size_t bytes) {
  const auto with = [](std::size_t letters) {
    return R"({"kind":"merge","source":"Source","filter":"","set":{"Text":")" + std::string(letters, 'x') + "\"}}";
  };
  return with(bytes - canonical_text(*parse_job_spec(with(1))).size() + 1);
}

TEST(JobSpec, WhatIsAddedToALongOneLeavesItValid) {
  EXPECT_THAT(parse_job_spec(merge_of(30'001)).error().message, HasSubstr("it is longer than 30000 bytes"));
  auto spec = parse_job_spec(merge_of(30'000));
  ASSERT_TRUE(spec) << spec.error().message;
  spec->group = GroupMember{std::string(64, 'g'), 1'000'000};
  spec->after = "0000000000000001-0123456789abcdef0123456789abcdef";
  spec->idempotency_key = "schedule:" + std::string(63, 's') + ":2026-11-21T01:00:00.1234567Z";
  spec->queue = std::string(40, 'q');
  const auto stored = parse_stored_spec(canonical_text(*spec));
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_EQ(stored->group, spec->group);
}

TEST(JobSpec, AMessageThatIsNoJobMayStillNameOne) {
  const std::string id = "0000000000000001-0123456789abcdef0123456789abcdef";
  EXPECT_EQ(job_id_in(R"({"jobId":")" + id + R"(","kind":"fly"})"), id);
  EXPECT_EQ(job_id_in(base64_encode(R"({"jobId":")" + id + R"(","kind":"fly"})")), id);
  for (const char* text : {"", "[]", "{", R"({"jobId":7})", R"({"jobId":"x"})", R"({"kind":"fly"})"}) {
    EXPECT_EQ(job_id_in(text), "") << text;
  }
}

TEST(JobSpec, RefusesWhatIsNoObject) {
  for (const char* text : {"", "[]", "7", "{", "null", R"({"kind":"fly"})", R"({"kind":1})", "{}"}) {
    EXPECT_TRUE(parse_job_spec(text).failed_with(ErrorCode::kJobInvalid)) << text;
  }
}

TEST(JobSpec, EveryKindListsItsProblems) {
  for (
      const char* text :
      {R"({"kind":"delete","source":"Aaa"})",
       R"({"kind":"delete","source":"Aaa","filter":"","wholeTable":true})",
       R"({"kind":"copy","source":"Aaa","destination":"Aaa","filter":""})",
       R"({"kind":"copy","source":"Aaa","destination":"Bbb","filter":"","rowKeyTemplate":"{"})",
       R"({"kind":"copy","source":"Aaa","destination":"Bbb","filter":"","properties":["A","A"]})",
       R"({"kind":"unarchive","source":"Aaa","destination":"aaa","filter":""})",
       R"({"kind":"undo","job":"x"})",
       R"({"kind":"archive","source":"TidemarkFiles","destination":"Abc","filter":""})",
       R"({"kind":"delete","source":"tidemarkfiles","wholeTable":true})",
       R"({"kind":"copy","source":"Abc","destination":"TidemarkFiles","filter":""})",
       R"({"kind":"redrive","poisonKind":"Fly!"})",
       R"({"kind":"redrive","canary":101})",
       R"({"kind":"redrive","canary":1,"poisonQueue":"orders"})",
       R"({"kind":"purge","canary":1})",
       R"({"kind":"purge","poisonIds":[]})",
       R"({"kind":"purge","poisonIds":["X"]})",
       R"({"kind":"purge","poisonIds":["a"],"fingerprint":"0123456789abcdef"})",
       R"({"kind":"purge","poisonQueue":"orders","poisonKind":"copy"})",
       R"({"kind":"purge","poisonQueue":"orders-poison"})",
       R"({"kind":"purge","poisonQueue":"tidemark-jobs-low"})",
       R"({"kind":"purge","poisonQueue":"No"})",
       R"({"kind":"purge","poisonQueue":"ab"})",
       R"({"kind":"redrive","maxAffected":1})",
       R"({"kind":"delete","source":"Aaa","filter":"","priority":"urgent"})",
       R"({"kind":"delete","source":"Aaa","filter":"","notBefore":"soon"})",
       R"({"kind":"delete","source":"Aaa","filter":"","retryBaseMs":5,"retryCapMs":1})",
       R"({"kind":"delete","source":"Aaa","filter":"","maxAffected":0})",
       R"({"kind":"merge","source":"Aaa","filter":""})",
       R"({"kind":"merge","source":"Aaa","filter":"","set":{}})",
       R"({"kind":"merge","source":"Aaa","filter":"","set":{"A":1},"remove":["B"]})",
       R"({"kind":"merge","source":"Aaa","filter":"","set":{"A":null}})",
       R"({"kind":"merge","source":"Aaa","filter":"","set":{"A":[1]}})",
       R"({"kind":"merge","source":"Aaa","filter":"","set":{"A":5000000000}})",
       R"({"kind":"merge","source":"Aaa","filter":"","set":{"A":{"type":"Int64","value":"x"}}})",
       R"({"kind":"merge","source":"Aaa","filter":"","set":{"A":{"type":"Int64"}}})",
       R"({"kind":"merge","source":"Aaa","filter":"","set":{"A":{"type":"Guid","value":"1","more":1}}})",
       R"({"kind":"merge","source":"Aaa","filter":"","set":{"RowKey":"1"}})",
       R"({"kind":"merge","source":"Aaa","filter":"","set":{"odata.etag":"1"}})",
       R"({"kind":"rekey","source":"Aaa","filter":""})",
       R"({"kind":"rekey","source":"Aaa","rowKey":"x"})",
       R"({"kind":"rekey","source":"Aaa","filter":"","rowKey":"{"})",
       R"({"kind":"rekey","source":"Aaa","filter":"","entity":{"partitionKey":"p","rowKey":"r"},"rowKey":"x"})",
       R"({"kind":"rekey","source":"Aaa","entity":{"partitionKey":"p"},"rowKey":"x"})",
       R"({"kind":"rekey","source":"Aaa","entity":"p","rowKey":"x"})",
       R"({"kind":"rekey","source":"Aaa","filter":"","rowKey":"x","set":{"Timestamp":1}})",
       R"({"kind":"delete","source":"Aaa","filter":"","then":1})",
       R"({"kind":"delete","source":"Aaa","filter":"","sourceAccount":"other"})",
       R"({"kind":"offload","source":"Aaa","filter":"","container":"ccc","minBytes":1,"destinationAccount":"other"})",
       R"({"kind":"archive","source":"Aaa","destination":"Bbb","filter":"","destinationAccount":"Other"})",
       R"({"kind":"archive","source":"Aaa","destination":"Aaa","filter":"","sourceAccount":"one","destinationAccount":"one"})",
       R"({"kind":"archive","source":"Aaa","destination":{"directory":"d"},"filter":"","destinationAccount":"other"})",
       R"({"kind":"copy","source":"Aaa","destination":"Bbb","filter":"","sourceAccount":7})",
       R"({"kind":"delete","source":"Aaa","filter":"","queue":""})",
       R"({"kind":"delete","source":"Aaa","filter":"","queue":"Heavy"})",
       R"({"kind":"delete","source":"Aaa","filter":"","queue":"high"})",
       R"({"kind":"delete","source":"Aaa","filter":"","queue":"my-poison"})",
       R"({"kind":"delete","source":"Aaa","filter":"","queue":"a23456789b123456789c123456789d123456789e1"})",
       R"({"kind":"delete","source":"Aaa","filter":"","queue":7})",
       R"({"kind":"delete","source":"Aaa","filter":"","queue":"heavy","priority":"high"})",
       R"({"kind":"delete","source":"Aaa","filter":"","after":"7fffffffffffffff-00000000"})",
       R"({"kind":"delete","source":"Aaa","filter":"","then":{"kind":"delete","source":"Aaa"}})",
       R"({"kind":"delete","source":"Aaa","filter":"",
            "then":{"kind":"delete","source":"Aaa","filter":"","idempotencyKey":"k"}})"}) {
    const auto spec = parse_job_spec(text);
    ASSERT_TRUE(spec.failed_with(ErrorCode::kJobInvalid)) << text;
    EXPECT_EQ(spec.error().fields.size(), 1U) << spec.error().message;
  }
}

TEST(JobSpec, AnUnknownKindIsNotTheOnlyProblemListed) {
  const auto spec = parse_job_spec(R"({"kind":"fly","maxAttempts":0})");
  ASSERT_FALSE(spec.has_value());
  EXPECT_EQ(spec.error().fields.size(), 2U);
}

TEST(JobSpec, ManyAtOnceNameThePlaceOfEachProblem) {
  EXPECT_EQ(parse_job_batch(R"({"jobs":[{"kind":"delete","source":"Aaa","filter":""}]})")->specs.size(), 1U);
  for (const char* text : {"[]", "{}", R"({"jobs":[]})", R"({"jobs":{}})", R"({"jobs":[1],"more":1})"}) {
    EXPECT_TRUE(parse_job_batch(text).failed_with(ErrorCode::kJobInvalid)) << text;
  }
  const auto bad = parse_job_batch(R"({"jobs":[{"kind":"delete","source":"Aaa","filter":""},7,{"kind":"delete"}]})");
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().fields.size(), 3U);
  EXPECT_THAT(bad.error().message, HasSubstr("jobs[1]: "));
  EXPECT_THAT(bad.error().message, HasSubstr("jobs[2]: source is missing"));
}

TEST(JobSpec, SurvivesItsOwnText) {
  for (
      const char* text :
      {R"({"kind":"unarchive","source":"Aaa","destination":"Bbb","filter":"","maxPerSecond":7,"maxAffected":9})",
       R"({"kind":"copy","source":"Aaa","destination":"Bbb","filter":"","rowKeyTemplate":"{X}","properties":["A","B"]})",
       R"({"kind":"delete","source":"Aaa","wholeTable":true,"priority":"low","notBefore":"2026-01-02T03:04:05.678Z"})",
       R"({"kind":"delete","source":"Aaa","partitionKey":"p","rowKey":"r","retryBaseMs":1,"retryCapMs":2})",
       R"({"kind":"undo","job":"7fffffffffffffff-00000000","priority":"high"})",
       R"({"kind":"copy","source":"Aaa","destination":"Aaa","filter":"","destinationAccount":"other"})",
       R"({"kind":"archive","source":"Aaa","destination":{"container":"ccc"},"filter":"","sourceAccount":"one1",
            "destinationAccount":"two"})",
       R"({"kind":"undo","job":"7fffffffffffffff-00000000","queue":"default","priority":"high"})",
       R"({"kind":"delete","source":"Aaa","filter":"","queue":"heavy","then":{"kind":"delete","source":"Bbb","filter":"",
            "then":{"kind":"delete","source":"Bbb","wholeTable":true,"priority":"low"}}})",
       R"({"kind":"redrive","poisonKind":"copy","fingerprint":"0123456789abcdef","movedAfter":"2026-01-01T00:00:00Z",
            "perSecond":3,"canary":2,"limit":10})",
       R"({"kind":"purge","poisonQueue":"orders","poisonIds":["0d391d16-97f1-4b9a-be68-4cc871f90001"],"limit":1})",
       R"({"kind":"purge","poisonSource":"Aaa","perSecond":10000})",
       R"({"kind":"archive","source":"Aaa","destination":"Bbb","filter":"PartitionKey eq 'd'","maxAttempts":100})",
       R"({"kind":"merge","source":"Aaa","filter":"","set":{"S":"text","I":-5,"L":{"type":"Int64","value":"-7"},"D":2.0,
            "N":{"type":"Double","value":"Infinity"},"B":true,"T":{"type":"DateTime","value":"2026-01-02T03:04:05.1234567Z"},
            "G":{"type":"Guid","value":"0d391d16-97f1-4b9a-be68-4cc871f90001"},
            "Bin":{"type":"Binary","value":"AAEC"},"Text":{"type":"String","value":"5"}}})",
       R"({"kind":"rekey","source":"Aaa","entity":{"partitionKey":"","rowKey":"r"},"partitionKey":"{X}"})",
       R"({"kind":"delete","source":"Aaa","partitionKey":"\ufffe","rowKey":"\uffff\ufffd","then":{"kind":"delete",
            "source":"Bbb","filter":"PartitionKey eq '\ufffe'"}})",
       R"({"kind":"rekey","source":"Aaa","filter":"A eq 1","rowKey":"{{x}}","set":{"A":2},"maxPerSecond":3})",
       R"({"kind":"delete","source":"Aaa","filter":"","then":{"kind":"undo","job":"7fffffffffffffff-00000000",
            "then":{"kind":"delete","source":"Bbb","wholeTable":true,"priority":"low"}}})",
       R"({"kind":"index","source":"Aaa","property":"Maintainer","destination":"Bbb","idempotencyKey":"k1"})"}) {
    auto spec = parse_job_spec(text);
    ASSERT_TRUE(spec.has_value()) << spec.error().message;
    auto again = parse_job_spec(canonical_text(*spec));
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(*again, *spec);
    EXPECT_TRUE(is_xml_text(job_message_text("", *spec)));
  }
}

TEST(JobSpec, FiveJobsCanFollowAndNotSix) {
  const std::string work = R"("kind":"delete","source":"Aaa","filter":"")";
  std::string text = "{" + work + "}";
  for (int following = 1; following <= 6; ++following) {
    text = "{" + work + R"(,"then":)" + text + "}";
    EXPECT_EQ(parse_job_spec(text).has_value(), following <= 5) << following;
  }
  const auto too_long =
      R"({"kind":"delete","source":"Aaa","filter":"","then":{"kind":"merge","source":"Aaa","filter":"",
      "set":{"A":")" +
      std::string(29'900, 'x') + R"("}}})";
  const auto refused = parse_job_spec(too_long);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("30000 bytes"));
}

TEST(JobSpec, ProblemsOfWhatFollowsNameTheirPlace) {
  const auto bad = parse_job_spec(
      R"({"kind":"delete","source":"Aaa","filter":"","then":{"kind":"undo","then":{"kind":"fly","maxAttempts":0}}})");
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().fields.size(), 3U);
  EXPECT_THAT(bad.error().message, HasSubstr("then: job is missing"));
  EXPECT_THAT(bad.error().message, HasSubstr("then: then: kind must be"));
}

TEST(JobMessage, SaysWhatItFollows) {
  auto spec = *parse_job_spec(R"({"kind":"delete","source":"Aaa","filter":""})");
  spec.after = "7fffffffffffffff-00000000";
  const auto read = parse_job_message(job_message_text("7fffffffffffffff-0123abcd", spec));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->spec, spec);
}

TEST(JobSpec, FingerprintIgnoresTheIdempotencyKeyOnly) {
  auto a = parse_job_spec(R"({"kind":"index","source":"Aaa","property":"P","destination":"Bbb","idempotencyKey":"1"})");
  auto b = parse_job_spec(R"({"property":"P","kind":"index","destination":"Bbb","source":"Aaa"})");
  auto c = parse_job_spec(R"({"kind":"index","source":"Aaa","property":"Q","destination":"Bbb"})");
  EXPECT_EQ(spec_fingerprint(*a), spec_fingerprint(*b));
  EXPECT_NE(spec_fingerprint(*a), spec_fingerprint(*c));
}

TEST(JobMessage, MayBeBase64AndMayLackItsId) {
  auto spec = parse_job_spec(R"({"kind":"index","source":"Aaa","property":"P","destination":"Bbb"})");
  auto plain = parse_job_message(job_message_text("", *spec));
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->job_id, "");
  const std::string id = "7fffffffffffffff-0123abcd";
  auto encoded = parse_job_message(base64_encode(job_message_text(id, *spec)));
  ASSERT_TRUE(encoded.has_value());
  EXPECT_EQ(encoded->job_id, id);
  EXPECT_EQ(encoded->spec, *spec);
  EXPECT_FALSE(parse_job_message(job_message_text("not an id", *spec)).has_value());
  auto lines = base64_encode(job_message_text(id, *spec));
  for (std::size_t at = 20; at < lines.size(); at += 22) lines.insert(at, "\r\n");
  const auto wrapped = parse_job_message(lines + "\n");
  ASSERT_TRUE(wrapped.has_value()) << wrapped.error().message;
  EXPECT_EQ(wrapped->spec, *spec);
}

/// Returns an object that has each of the members, with a value that no member takes.
json all_null(const std::vector<Member>& members) {
  auto out = json::object();
  for (const auto& each : members) out[each.name] = nullptr;
  return out;
}

std::set<std::string> names_of(const std::vector<Member>& members) {
  std::set<std::string> out;
  for (const auto& each : members) out.insert(each.name);
  return out;
}

/// Compares the members that reading knows, needs and writes with those described.
template <class T>
void expect_described(std::string_view what) {
  const auto members = members_of<T>();
  const auto all = all_null(members), none = json::object();
  SpecMembers full(all), empty(none);
  T().members(full);
  T().members(empty);
  std::set<std::string> read(full.known().begin(), full.known().end());
  if (what == "merge") read.erase("remove");  // it is known, so that its refusal has a reason of its own
  EXPECT_EQ(read, names_of(members)) << what;
  for (const auto& each : members) {
    const bool missed = std::ranges::find(empty.problems(), each.name + " is missing") != empty.problems().end();
    EXPECT_EQ(missed, each.required) << what << " " << each.name;
  }
  for (const auto& [name, value] : members_json(T()).items()) EXPECT_TRUE(read.contains(name)) << what << " " << name;
}

TEST(Description, HasTheMembersThatReadingKnows) {
  Kinds::for_each([]<class Spec>(const Spec&) { expect_described<Spec>(Spec::kName); });
  expect_described<ObjectArchive>("archive outside of tables");
  expect_described<CallbackEndpoint>("onEnd");
}

TEST(Description, HasTheMembersOfEveryJob) {
  Kinds::for_each([]<class Spec>(const Spec&) {
    auto job = all_null(members_of<Spec>());
    job.update(all_null(members_of_every_job()));
    if (Spec::kSelectsEntities) job.update(all_null(members_of_selecting_jobs()));
    job["kind"] = Spec::kName;
    const auto spec = job_spec_from_json(job);
    ASSERT_FALSE(spec.has_value());
    EXPECT_THAT(spec.error().message, Not(HasSubstr("unknown member"))) << Spec::kName;
    EXPECT_THAT(spec.error().message, HasSubstr("maxAttempts must be")) << Spec::kName;
  });
  const auto whole = parse_job_spec(
      R"({"kind":"copy","source":"Aaa","destination":"Bbb","filter":"","priority":"low","notBefore":"2026-01-31T22:00:00Z",
          "retryBaseMs":1,"retryCapMs":2,"keepHours":3,"maxAffected":4,"maxPerSecond":5,"idempotencyKey":"k",
          "onEnd":{"url":"https://a.example/"},"then":{"kind":"undo","job":"0000000000000000-00000000"},
          "traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"a=b"})");
  ASSERT_TRUE(whole.has_value()) << whole.error().message;
  auto described = names_of(members_of_every_job());
  described.merge(names_of(members_of_selecting_jobs()));
  described.merge(names_of(members_of<CopySpec>()));
  for (const auto& [name, value] : to_json(*whole).items())
    EXPECT_TRUE(described.contains(name) || name == "kind") << name;
}

TEST(Description, GivesLimitsAndDefaults) {
  const auto schema = object_schema(members_of<PurgeSpec>())["properties"];
  EXPECT_EQ(schema["perSecond"].dump(),
            R"({"type":"integer","minimum":1,"maximum":10000,"default":1000,"description":"Messages a second"})");
  EXPECT_EQ(schema["limit"].dump(), R"({"type":"integer","minimum":1,"description":"At most so many"})");
}

}  // namespace
}  // namespace tidemark::jobs
