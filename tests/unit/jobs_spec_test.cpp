#include <gmock/gmock.h>

#include "common/base/encoding.h"
#include "jobs/job_spec.h"

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

TEST(JobSpec, SurvivesItsOwnText) {
  for (const char* text :
       {R"({"kind":"archive","source":"Aaa","destination":"Bbb","filter":"PartitionKey eq 'd'","maxAttempts":100})",
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
