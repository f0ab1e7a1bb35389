// Trace contexts as they come over the wire, histograms, and the most frequent names.
#include <gtest/gtest.h>

#include "common/base/heavy_hitters.h"
#include "common/base/histogram.h"
#include "common/base/trace_context.h"

namespace tidemark {
namespace {

const std::string kTrace = "0af7651916cd43dd8448eb211c80319c";
const std::string kSpan = "b7ad6b7169203331";
const std::string kParent = "00-" + kTrace + "-" + kSpan + "-01";

TEST(TraceContext, IsReadAndWrittenAsItCame) {
  const auto read = parse_trace(kParent, "vendor=a,other@x=b");
  ASSERT_TRUE(read);
  EXPECT_TRUE(*read);
  EXPECT_EQ(read->trace_id(), kTrace);
  EXPECT_EQ(read->span_id(), kSpan);
  EXPECT_TRUE(read->sampled);
  EXPECT_EQ(read->state, "vendor=a,other@x=b");
  EXPECT_EQ(traceparent_of(*read), kParent);
  EXPECT_EQ(trace_for_log(*read), " trace_id=" + kTrace);
  const auto unsampled = parse_trace("00-" + kTrace + "-" + kSpan + "-fe");
  ASSERT_TRUE(unsampled);
  EXPECT_FALSE(unsampled->sampled) << "other flags mean nothing here";
}

TEST(TraceContext, WhatIsNotOneIsIgnored) {
  const std::string zeros(32, '0');
  for (const auto& text :
       {std::string(), std::string("00"), kParent.substr(1), kParent + "0", kParent + "-x", "ff" + kParent.substr(2),
        "0G" + kParent.substr(2), "00-" + zeros + "-" + kSpan + "-01", "00-" + kTrace + "-" + zeros.substr(16) + "-01",
        "00_" + kParent.substr(3), "00-0AF7651916CD43DD8448EB211C80319C-" + kSpan + "-01",
        "01-" + kTrace + "-" + kSpan + "-01x", "01-" + kTrace + "-" + kSpan + "-01-" + std::string(300, 'a')}) {
    EXPECT_FALSE(parse_trace(text)) << text;
  }
  EXPECT_TRUE(parse_trace("01-" + kTrace + "-" + kSpan + "-01-later")) << "of a later version";
}

TEST(TraceContext, AStateThatIsNoneIsLeftOut) {
  std::string many;
  for (int i = 0; i < 33; ++i) many += "k" + std::to_string(i) + "=v,";
  for (const auto& state : {std::string("novalue"), std::string("=v"), std::string("k="), std::string("k=\n"),
                            "k=" + std::string(kMaxTraceState, 'v'), many, std::string(",,")}) {
    const auto read = parse_trace(kParent, state);
    ASSERT_TRUE(read) << state;
    EXPECT_EQ(read->state, "") << state;
  }
  EXPECT_EQ(parse_trace(kParent, "a=1,,b=2")->state, "a=1,,b=2");
}

TEST(TraceContext, NewOnesHaveIdsThatAreNotZero) {
  const auto made = new_trace(0, 0, 0, true);
  EXPECT_TRUE(parse_trace(traceparent_of(made)));
  EXPECT_EQ(made.below(0x1234).span_id(), "0000000000001234");
  EXPECT_EQ(made.below(0x1234).trace_id(), made.trace_id());
  EXPECT_EQ(traceparent_of(TraceContext()), "");
  EXPECT_EQ(trace_for_log(TraceContext()), "");
}

TEST(Histogram, CountsUpToEachBound) {
  static constexpr std::uint64_t kBounds[] = {10, 20};
  Histogram histogram(kBounds);
  for (const auto value : {0, 10, 11, 20, 21, 1000}) histogram.observe(static_cast<std::uint64_t>(value));
  auto counts = histogram.counts();
  EXPECT_EQ(counts.buckets, (std::vector<std::uint64_t>{2, 2, 2}));
  EXPECT_EQ(counts.sum, 1062U);
  counts.add(histogram.counts());
  EXPECT_EQ(counts.values(), 12U);
}

TEST(HeavyHitters, FindsWhatIsFrequentAmongManyThatAreNot) {
  HeavyHitters<std::string> sketch(8);
  for (int i = 0; i < 3000; ++i) {
    sketch.add("rare" + std::to_string(i));
    if (i % 2 == 0) sketch.add("often");
    if (i % 3 == 0) sketch.add("second");
  }
  const auto most = sketch.most(2);
  ASSERT_EQ(most.size(), 2U);
  EXPECT_EQ(most[0].key, "often");
  EXPECT_EQ(most[1].key, "second");
  EXPECT_LE(most[0].at_least(), 1500U);
  EXPECT_GE(most[0].count, 1500U);
}

TEST(HeavyHitters, IsExactWhileThereIsRoom) {
  HeavyHitters<int> sketch(4);
  for (int i = 0; i < 10; ++i) sketch.add(i % 3);
  const auto most = sketch.most(9);
  ASSERT_EQ(most.size(), 3U);
  EXPECT_EQ(most[0].key, 0);
  EXPECT_EQ(most[0].at_least(), 4U);
  EXPECT_EQ(most[1].at_least(), 3U);
}

}  // namespace
}  // namespace tidemark
