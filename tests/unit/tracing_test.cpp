// Spans in the form of OTLP, the spans of a job, and spans that no collector accepts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/tracing/tracer.h"
#include "jobs/spec/job_spec.h"
#include "jobs/spec/job_trace.h"
#include "tests/support/seeded_random.h"

namespace tidemark::tracing {
namespace {

using ::testing::HasSubstr;

const auto kSubmitted = *parse_trace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "v=1");

Span sampled_span() {
  Span span;
  span.context = kSubmitted;
  return span;
}

TEST(Otlp, WritesASpan) {
  Span span;
  span.context = kSubmitted.below(7);
  span.parent = kSubmitted.span_id();
  span.name = "Query\xff";
  span.kind = SpanKind::kServer;
  span.begun = Time(std::chrono::seconds(10));
  span.ended = Time(std::chrono::seconds(11));
  span.attributes = {{"a", std::string("b")}, {"n", std::int64_t{5}}};
  span.failed = true;
  span.error = "why";
  const auto json = nlohmann::json::parse(otlp_json("table_store", std::span(&span, 1)));
  const auto& resource = json.at("resourceSpans").at(0);
  EXPECT_EQ(resource.at("resource").at("attributes").at(0).at("value").at("stringValue"), "table_store");
  const auto& written = resource.at("scopeSpans").at(0).at("spans").at(0);
  EXPECT_EQ(written.at("traceId"), kSubmitted.trace_id());
  EXPECT_EQ(written.at("spanId"), "0000000000000007");
  EXPECT_EQ(written.at("parentSpanId"), kSubmitted.span_id());
  EXPECT_EQ(written.at("traceState"), "v=1");
  EXPECT_EQ(written.at("kind"), 2);
  EXPECT_EQ(written.at("startTimeUnixNano"), "10000000000");
  EXPECT_EQ(written.at("endTimeUnixNano"), "11000000000");
  EXPECT_EQ(written.at("attributes").at(1).at("value").at("intValue"), "5");
  EXPECT_EQ(written.at("status").at("code"), 2);
}

TEST(Otlp, RefusesWhatIsNoEndpoint) {
  for (const auto* endpoint : {"localhost:4318", "ftp://x", "http://x/?a", "http://", "http://a b"}) {
    EXPECT_EQ(Collector::at(endpoint).error().code, ErrorCode::kConfigInvalid) << endpoint;
  }
  EXPECT_TRUE(Collector::at("http://localhost:4318/"));
}

TEST(Tracer, MakesNothingWithoutAnEndpoint) {
  const auto clock = make_system_clock();
  SeededRandom random(1);
  process::Metrics metrics;
  const auto tracer = std::move(*Tracer::create({}, "api", *clock, random, metrics));
  EXPECT_FALSE(tracer->on());
  tracer->end(sampled_span());
  EXPECT_THAT(metrics.render(), HasSubstr("tidemark_spans_total{outcome=\"dropped\"} 0\n"));
}

TEST(Tracer, SamplesAsTheCallerOrTheSettingSays) {
  const auto clock = make_system_clock();
  SeededRandom random(1);
  process::Metrics metrics;
  const TracingSettings never{.otlp_endpoint = "http://127.0.0.1:9", .trace_percent = 0};
  const auto tracer = std::move(*Tracer::create(never, "api", *clock, random, metrics));
  EXPECT_FALSE(tracer->begin({}).sampled);
  EXPECT_TRUE(tracer->begin({}));
  const auto below = tracer->begin(kSubmitted);
  EXPECT_TRUE(below.sampled);
  EXPECT_EQ(below.trace_id(), kSubmitted.trace_id());
  EXPECT_NE(below.span_id(), kSubmitted.span_id());
}

TEST(Tracer, DropsAndCountsWhatTheQueueHasNoRoomFor) {
  const auto clock = make_system_clock();
  SeededRandom random(1);
  process::Metrics metrics;
  const TracingSettings nobody{.otlp_endpoint = "http://127.0.0.1:9"};
  const auto tracer = std::move(*Tracer::create(nobody, "api", *clock, random, metrics));
  for (int i = 0; i < 20'000; ++i) tracer->end(sampled_span());
  EXPECT_THAT(metrics.render(), ::testing::ContainsRegex("outcome=\"dropped\"} [1-9][0-9]+"));
}

TEST(JobTrace, FollowsFromTheJob) {
  const auto job = jobs::job_trace(kSubmitted, "j1");
  EXPECT_EQ(job, jobs::job_trace(kSubmitted, "j1"));
  EXPECT_NE(job.span_id(), jobs::job_trace(kSubmitted, "j2").span_id());
  EXPECT_NE(job.span_id(), jobs::delivery_trace(kSubmitted, "j1", 1).span_id());
  EXPECT_EQ(job.trace_id(), kSubmitted.trace_id());
  EXPECT_FALSE(jobs::job_trace({}, "j1"));
}

TEST(JobTrace, GoesWithTheMessageAndIsNoPartOfTheJob) {
  const std::string text = R"({"kind":"delete","source":"People","filter":""})";
  auto spec = *jobs::parse_job_spec(text);
  const auto before = jobs::spec_fingerprint(spec);
  spec.trace = kSubmitted;
  EXPECT_EQ(jobs::spec_fingerprint(spec), before) << "the same key may come with another trace";
  const auto message = jobs::parse_job_message(jobs::job_message_text("", spec));
  ASSERT_TRUE(message);
  EXPECT_EQ(message->spec.trace, kSubmitted);
  const auto odd = jobs::parse_job_spec(R"({"kind":"delete","source":"People","filter":"","traceparent":"nonsense"})");
  ASSERT_TRUE(odd);
  EXPECT_FALSE(odd->trace);
}

}  // namespace
}  // namespace tidemark::tracing
