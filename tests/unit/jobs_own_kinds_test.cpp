// Kinds that users declare: their names, declarations and queues, and the jobs of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/kinds/own/own.h"
#include "jobs/spec/job_queues.h"
#include "jobs/spec/job_spec.h"
#include "jobs/spec/own_kinds.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

OwnKinds declared() {
  OwnKind resize;
  resize.name = "resize";
  resize.max_attempts = 7;
  resize.retry_base_ms = 50;
  resize.keep_hours = 3;
  return {resize};
}

TEST(OwnKinds, HaveNamesOfTheirOwn) {
  for (const char* name : {"a", "resize", "resize-2", "a-b-c", "mail7"}) EXPECT_TRUE(is_own_kind_name(name)) << name;
  for (const std::string name :
       {"", "archive", "callback", "unknown", "Resize", "a_b", "-a", "a-", "a--b", "7up", "a b"}) {
    EXPECT_FALSE(is_own_kind_name(name)) << name;
  }
  EXPECT_TRUE(is_own_kind_name(std::string(32, 'a')));
  EXPECT_FALSE(is_own_kind_name(std::string(33, 'a')));
}

TEST(OwnKinds, HaveQueuesForEachVersionAndPriority) {
  const KindVersion of{"resize-v1", 12};
  const auto queues = work_queues(of);
  EXPECT_THAT(queues, ElementsAre("tidemark-work-resize-v1-v12-high", "tidemark-work-resize-v1-v12",
                                  "tidemark-work-resize-v1-v12-low"));
  for (const auto& queue : queues) EXPECT_EQ(name_of_queue(queue), "resize-v1@12");
  EXPECT_THAT(queues_named("resize-v1@12"), ElementsAre(queues[1], queues[0], queues[2]));
  for (const char* queue : {"tidemark-work-", "tidemark-work-resize", "tidemark-work-resize-v0",
                            "tidemark-work-archive-v1", "tidemark-work-resize-v1-poison", "orders"}) {
    EXPECT_EQ(name_of_queue(queue), "") << queue;
  }
  EXPECT_EQ(name_of_queue("tidemark-jobs-low"), "default");
  EXPECT_EQ(name_of_queue("tidemark-jobs-heavy"), "heavy");
  EXPECT_EQ(kind_version_in("resize"), (KindVersion{"resize", 1}));
  EXPECT_EQ(kind_version_in("resize@999999"), (KindVersion{"resize", 999'999}));
  for (const char* text : {"resize@", "resize@0", "resize@1000000", "resize@1x", "archive@1", "@1", ""}) {
    EXPECT_EQ(kind_version_in(text), std::nullopt) << text;
  }
}

TEST(OwnKinds, TheirJobsTakeTheDefaultsOfTheDeclaration) {
  const auto spec =
      parse_job_spec(R"({"kind":"resize","version":2,"key":"acme/c7","input":{"b":[1],"a":null}})", declared());
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(kind_name(*spec), "resize");
  EXPECT_EQ(std::get<OwnSpec>(spec->work).version, 2U);
  EXPECT_EQ(spec->key, "acme/c7");
  EXPECT_EQ(spec->max_attempts, 7U);
  EXPECT_EQ(spec->retry_base_ms, 50U);
  EXPECT_EQ(spec->keep_hours, 3U);
  EXPECT_EQ(queue_of(*spec), "tidemark-work-resize-v2");
  const auto own = parse_job_spec(R"({"kind":"resize","maxAttempts":1,"priority":"high"})", declared());
  EXPECT_EQ(own->max_attempts, 1U);
  EXPECT_EQ(queue_of(*own), "tidemark-work-resize-v1-high");
}

TEST(OwnKinds, TheirJobsAreStoredAndReadAgain) {
  for (const char* text :
       {R"({"kind":"resize","version":2,"key":"a","input":{"z":1,"a":[true,"x"]}})", R"({"kind":"resize"})",
        R"({"kind":"resize","input":"text","then":{"kind":"resize","version":3}})"}) {
    const auto spec = parse_job_spec(text, declared());
    ASSERT_TRUE(spec) << text;
    EXPECT_EQ(parse_stored_spec(canonical_text(*spec)), *spec) << canonical_text(*spec);
  }
}

TEST(OwnKinds, WhatIsNotDeclaredIsRefusedWithAdvice) {
  const auto unknown = parse_job_spec(R"({"kind":"mail"})", declared());
  EXPECT_THAT(unknown.error().message, HasSubstr("PUT /v1/kinds/mail"));
  EXPECT_THAT(parse_job_spec(R"({"kind":"resise"})", declared()).error().message,
              HasSubstr("Did you mean \"resize\"?"));
  EXPECT_THAT(
      parse_job_spec(R"({"kind":"resize","queue":"gpu","version":0,"width":1})", declared()).error().fields.size(), 3U);
  const auto large = R"({"kind":"resize","input":")" + std::string(30'000, 'x') + "\"}";
  EXPECT_THAT(parse_job_spec(large, declared()).error().message, HasSubstr("put a larger input into a blob"));
  const auto keys = R"({"kind":"resize","key":")" + std::string(129, 'x') + "\"}";
  EXPECT_FALSE(parse_job_spec(keys, declared()));
}

TEST(OwnKinds, AMessageIsOneIfItNamesItsVersion) {
  EXPECT_TRUE(parse_job_message(R"({"kind":"mail","version":1})"));
  EXPECT_FALSE(parse_job_message(R"({"kind":"mail"})"));
  EXPECT_FALSE(parse_job_message(R"({"kind":"Mail","version":1})"));
}

TEST(OwnKinds, ADeclarationSaysWhatIsWrong) {
  const auto read = [](const char* text) {
    const auto object = nlohmann::json::parse(text);
    SpecMembers in(object);
    OwnKind kind;
    kind.members(in);
    in.refuse_unknown();
    return in.problems().size();
  };
  EXPECT_EQ(read("{}"), 0U);
  EXPECT_EQ(
      read(
          R"({"leaseSeconds":1,"maxAttempts":100,"retryBaseMs":1,"retryCapMs":2,"keepHours":2,"perKey":{"running":0}})"),
      0U);
  EXPECT_EQ(read(R"({"leaseSeconds":3601,"maxAttempts":0,"retryBaseMs":3,"retryCapMs":2,"perKey":{"runing":1},"x":1})"),
            5U);
}

}  // namespace
}  // namespace tidemark::jobs
