#include <gmock/gmock.h>

#include "common/base/encoding.h"
#include "jobs/spec/job_spec.h"

namespace tidemark::jobs {
namespace {

using ::testing::HasSubstr;

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

TEST(JobSpec, RefusesOneTableForBothWhateverItsCase) {
  EXPECT_FALSE(parse_job_spec(R"({"kind":"archive","source":"Abc","destination":"aBC","filter":""})").has_value());
  EXPECT_FALSE(parse_job_spec(R"({"kind":"index","source":"Abc","destination":"aBC","property":"P"})").has_value());
}

TEST(JobSpec, RefusesTheTableOfTheJobs) {
  EXPECT_FALSE(parse_job_spec(R"({"kind":"archive","source":"tidemarkjobs","destination":"Bbb","filter":""})"));
}

TEST(JobSpec, RefusesWhatIsNoObject) {
  for (const char* text : {"", "[]", "7", "{", "null", R"({"kind":"fly"})", R"({"kind":1})", "{}"}) {
    EXPECT_TRUE(parse_job_spec(text).failed_with(ErrorCode::kJobInvalid)) << text;
  }
}

TEST(JobSpec, EveryKindListsItsProblems) {
  for (const char* text :
       {R"({"kind":"delete","source":"Aaa"})", R"({"kind":"delete","source":"Aaa","filter":"","wholeTable":true})",
        R"({"kind":"copy","source":"Aaa","destination":"Aaa","filter":""})",
        R"({"kind":"copy","source":"Aaa","destination":"Bbb","filter":"","rowKeyTemplate":"{"})",
        R"({"kind":"copy","source":"Aaa","destination":"Bbb","filter":"","properties":["A","A"]})",
        R"({"kind":"unarchive","source":"Aaa","destination":"aaa","filter":""})", R"({"kind":"undo","job":"x"})",
        R"({"kind":"archive","source":"TidemarkFiles","destination":"Abc","filter":""})",
        R"({"kind":"delete","source":"tidemarkfiles","wholeTable":true})",
        R"({"kind":"copy","source":"Abc","destination":"TidemarkFiles","filter":""})",
        R"({"kind":"redrive","poisonKind":"fly"})", R"({"kind":"redrive","canary":101})",
        R"({"kind":"redrive","maxAffected":1})", R"({"kind":"delete","source":"Aaa","filter":"","priority":"urgent"})",
        R"({"kind":"delete","source":"Aaa","filter":"","notBefore":"soon"})",
        R"({"kind":"delete","source":"Aaa","filter":"","retryBaseMs":5,"retryCapMs":1})",
        R"({"kind":"delete","source":"Aaa","filter":"","maxAffected":0})"}) {
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
       R"({"kind":"redrive","poisonKind":"copy","fingerprint":"0123456789abcdef","movedAfter":"2026-01-01T00:00:00Z",
            "perSecond":3,"canary":2,"limit":10})",
       R"({"kind":"archive","source":"Aaa","destination":"Bbb","filter":"PartitionKey eq 'd'","maxAttempts":100})",
       R"({"kind":"index","source":"Aaa","property":"Maintainer","destination":"Bbb","idempotencyKey":"k1"})"}) {
    auto spec = parse_job_spec(text);
    ASSERT_TRUE(spec.has_value()) << spec.error().message;
    auto again = parse_job_spec(canonical_text(*spec));
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(*again, *spec);
  }
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
}

}  // namespace
}  // namespace tidemark::jobs
