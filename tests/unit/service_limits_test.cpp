// The request limits of accounts and addresses, and access to /metrics.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/thread_pool.hpp>

#include "common/service/metrics_access.h"
#include "common/service/request_limits.h"

namespace tidemark::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

const auto kBegin = RateBuckets::TimePoint(std::chrono::hours(1));
constexpr auto kNone = RateBuckets::Wait::zero();

std::uint64_t taken_of(RateBuckets& buckets, std::uint64_t key, RateBuckets::TimePoint now, int tries = 1000) {
  std::uint64_t taken = 0;
  for (int i = 0; i < tries; ++i) taken += buckets.take(key, 1, now) == kNone ? 1U : 0U;
  return taken;
}

TEST(RateBuckets, GivesASecondsWorthAtOnceAndThenTheRate) {
  RateBuckets buckets(100);
  EXPECT_EQ(taken_of(buckets, 1, kBegin), 100U);
  EXPECT_EQ(taken_of(buckets, 1, kBegin + milliseconds(100)), 10U);
  EXPECT_EQ(taken_of(buckets, 2, kBegin), 100U) << "another key has a bucket of its own";
  EXPECT_EQ(taken_of(buckets, 1, kBegin + seconds(100)), 100U) << "it is full again, and not more than that";
}

TEST(RateBuckets, TellsWhenThereIsSomethingAgain) {
  RateBuckets buckets(10);
  EXPECT_EQ(taken_of(buckets, 1, kBegin), 10U);
  const auto wait = buckets.take(1, 1, kBegin);
  EXPECT_GT(wait, kNone);
  EXPECT_LE(wait, milliseconds(100));
  EXPECT_EQ(buckets.take(1, 1, kBegin + wait), kNone);
}

TEST(RateBuckets, OwesWhatWasLargerThanTheRestButNotForLong) {
  RateBuckets buckets(1000);
  EXPECT_EQ(buckets.take(1, 5000, kBegin), kNone);
  EXPECT_GT(buckets.take(1, 1, kBegin + milliseconds(3900)), kNone);
  EXPECT_EQ(buckets.take(1, 0, kBegin + milliseconds(4100)), kNone);
  buckets.charge(1, UINT64_MAX, kBegin + seconds(5));
  EXPECT_EQ(buckets.take(1, 0, kBegin + seconds(5 + 62)), kNone);
}

TEST(RateBuckets, WithoutALimitThereIsNone) {
  RateBuckets buckets(0);
  EXPECT_EQ(taken_of(buckets, 1, kBegin), 1000U);
  EXPECT_FALSE(buckets.limits());
}

TEST(RateBuckets, ManyKeysForgetTheFullestBuckets) {
  RateBuckets buckets(10);
  const auto busy = RateBuckets::key({"busy"});
  EXPECT_EQ(taken_of(buckets, busy, kBegin), 10U);
  for (int i = 0; i < 200'000; ++i) buckets.take(RateBuckets::key({std::to_string(i)}), 1, kBegin);
  EXPECT_EQ(taken_of(buckets, busy, kBegin), 0U);
}

TEST(RateBuckets, ThreadsTogetherGetTheRate) {
  RateBuckets buckets(1000);
  std::atomic<std::uint64_t> taken = 0;
  asio::thread_pool threads(4);
  for (int i = 0; i < 4; ++i) asio::post(threads, [&] { taken += taken_of(buckets, 7, kBegin); });
  threads.join();
  EXPECT_EQ(taken.load(), 1000U);
}

class Body final : public http::BodyReader {
 public:
  explicit Body(std::optional<std::uint64_t> length) : length_(length) {}
  [[nodiscard]] std::optional<std::uint64_t> content_length() const override { return length_; }
  Task<Result<std::string>> read_all(std::size_t) override { co_return std::string(); }
  Task<Result<std::string>> read_some(std::size_t) override { co_return std::string(); }
  [[nodiscard]] std::uint64_t bytes_read() const override { return 5000; }

 private:
  std::optional<std::uint64_t> length_;
};

struct Asked {
  explicit Asked(std::string address, std::optional<std::uint64_t> length = std::nullopt) : body(length) {
    request.remote_address = std::move(address);
    request.body = &body;
  }
  Body body;
  http::Request request;
};

class Limits : public ::testing::Test {
 protected:
  static std::string said(const Admitted& refusal) { return refusal ? refusal->error.message : ""; }
  [[nodiscard]] std::string counted() const { return metrics_.render(); }
  process::Metrics metrics_;
};

TEST_F(Limits, AnAddressHasItsRequestsAndBytes) {
  RequestLimits limits({.requests = 3, .bytes = 1000}, {}, metrics_);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(limits.admit_address(Asked("10.0.0.1").request));
  const auto refusal = limits.admit_address(Asked("10.0.0.1").request);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->error.code, ErrorCode::kServerBusy);
  EXPECT_EQ(refusal->error.message, "Operations per second is over the limit of an address.");
  EXPECT_EQ(refusal->error.detail, "10.0.0.1 is over max_requests_per_s_of_address");
  EXPECT_EQ(refusal->retry_after_s, 1U);
  EXPECT_FALSE(limits.admit_address(Asked("10.0.0.2", 2500).request)) << "more than a second's worth is possible";
  const auto owing = limits.admit_address(Asked("10.0.0.2", 1).request);
  EXPECT_EQ(said(owing), "Ingress is over the limit of an address.");
  EXPECT_EQ(owing->retry_after_s, 2U);
  http::Response answer;
  answer.body = std::string(9000, 'x');
  limits.answered_address(Asked("10.0.0.3", 0).request, answer);
  EXPECT_EQ(said(limits.admit_address(Asked("10.0.0.3").request)), "Egress is over the limit of an address.");
  limits.answered_address(Asked("10.0.0.4").request, {});  // the length of a chunked body is known afterwards
  EXPECT_EQ(said(limits.admit_address(Asked("10.0.0.4").request)), "Ingress is over the limit of an address.");
  EXPECT_THAT(counted(), HasSubstr("tidemark_requests_limited_total{reason=\"address_requests\"} 1"));
  EXPECT_THAT(counted(), HasSubstr("tidemark_requests_limited_total{reason=\"address_ingress\"} 2"));
  EXPECT_THAT(counted(), HasSubstr("tidemark_requests_limited_total{reason=\"address_egress\"} 1"));
}

TEST_F(Limits, WhoHasANetworkHasOneAddress) {
  RequestLimits limits({.requests = 2}, {}, metrics_);
  EXPECT_FALSE(limits.admit_address(Asked("2001:db8:1:2::1").request));
  EXPECT_FALSE(limits.admit_address(Asked("2001:db8:1:2:ffff::9").request));
  EXPECT_TRUE(limits.admit_address(Asked("2001:db8:1:2:3::").request));
  EXPECT_FALSE(limits.admit_address(Asked("2001:db8:1:3::1").request));
  for (const auto* mapped : {"::ffff:10.0.0.1", "::ffff:10.0.0.2", "::ffff:10.0.0.3"}) {
    EXPECT_FALSE(limits.admit_address(Asked(mapped).request)) << mapped;
  }
}

TEST_F(Limits, AnAccountHasItsOwn) {
  RequestLimits limits({}, {.requests = 2, .bytes = 100}, metrics_);
  EXPECT_FALSE(limits.admit_address(Asked("10.0.0.1").request));
  EXPECT_FALSE(limits.admit_account("one", Asked("10.0.0.1").request));
  EXPECT_FALSE(limits.admit_account("one", Asked("10.0.0.2").request));
  EXPECT_EQ(said(limits.admit_account("one", Asked("10.0.0.3").request)),
            "Operations per second is over the account limit.");
  EXPECT_FALSE(limits.admit_account("two", Asked("10.0.0.1", 500).request));
  EXPECT_EQ(said(limits.admit_account("two", Asked("10.0.0.1", 1).request)), "Ingress is over the account limit.");
  http::Response answer;
  answer.body = std::string(900, 'x');
  limits.answered_account("three", Asked("10.0.0.1", 0).request, answer);
  EXPECT_EQ(said(limits.admit_account("three", Asked("10.0.0.1").request)), "Egress is over the account limit.");
}

TEST_F(Limits, APartOfAnAccountHasItsTarget) {
  RequestLimits limits({}, {.items = 500, .part_items = 100}, metrics_);
  EXPECT_FALSE(limits.admit_items("a", {"People", "p1"}, 100));
  EXPECT_EQ(said(limits.admit_items("a", {"People", "p1"}, 1)), "The server is busy.");
  EXPECT_FALSE(limits.admit_items("a", {"People", "p2"}, 1));
  EXPECT_FALSE(limits.admit_items("b", {"People", "p1"}, 1));
  limits.charge_items("a", {"People", "p3"}, 5000);
  EXPECT_EQ(said(limits.admit_items("a", {"People", "p4"}, 1)), "Operations per second is over the account limit.");
  EXPECT_THAT(counted(), HasSubstr("tidemark_requests_limited_total{reason=\"part_items\"} 1"));
  EXPECT_THAT(counted(), HasSubstr("tidemark_requests_limited_total{reason=\"account_items\"} 1"));
}

TEST(MetricsAccess, IsForThisMachineOrTheToken) {
  const auto asked_by = [](std::string_view host, std::string_view authorization) {
    http::Request request;
    request.headers = {{"Host", host}};
    if (!authorization.empty()) request.headers.emplace_back("Authorization", authorization);
    return request;
  };
  const auto local = MetricsAccess::create("127.0.0.1", "secret").value();
  const auto remote = MetricsAccess::create("0.0.0.0", "secret").value();
  for (const auto* host : {"localhost", "LOCALHOST:10001", "127.0.0.1:10001", "127.9.9.9", "[::1]:80"}) {
    EXPECT_TRUE(local.admit(asked_by(host, ""))) << host;
    EXPECT_TRUE(remote.admit(asked_by(host, "")).failed_with(ErrorCode::kUnauthorized)) << host;
  }
  for (const auto* host : {"", "evil.example", "localhost.evil.example", "10.0.0.1", "[::2]"}) {
    EXPECT_TRUE(local.admit(asked_by(host, "")).failed_with(ErrorCode::kUnauthorized)) << host;
    EXPECT_TRUE(local.admit(asked_by(host, "Bearer secret"))) << host;
  }
  EXPECT_TRUE(remote.admit(asked_by("store", "bearer secret")));
  for (const auto* wrong : {"Bearer", "Bearer ", "Bearer secre", "Bearer secrets", "Basic secret", "secret"}) {
    EXPECT_FALSE(remote.admit(asked_by("store", wrong))) << wrong;
  }
  EXPECT_TRUE(MetricsAccess::create("nowhere", "").failed_with(ErrorCode::kConfigInvalid));
}

}  // namespace
}  // namespace tidemark::service
