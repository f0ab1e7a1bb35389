#include "common/analytics/counters.h"

#include <fmt/chrono.h>

#include <numeric>

#include "common/base/record.h"

namespace tidemark::analytics {
namespace {

using enum Outcome;

constexpr auto kCountersRecord = record_format<Counters>(1, "request counters", [](auto& io, auto& counters) {
  for (auto& of_outcome : counters.answers) {
    for (auto& count : of_outcome) io.varint(count);
  }
  io.varint(counters.ingress);
  io.varint(counters.egress);
  io.varint(counters.end_to_end_ms);
  io.varint(counters.server_ms);
});

/// The number of requests that the owner of the account would pay for.
std::uint64_t billable(const Counters& counters) {
  const auto anonymous_strangers =
      counters.answers[static_cast<std::size_t>(kAuthorizationError)][static_cast<std::size_t>(Login::kAnonymous)];
  return counters.of(kSuccess) + counters.of(kClientTimeoutError) + counters.of(kClientOtherError) +
         counters.of(kNetworkError) + counters.of(kAuthorizationError) - anonymous_strangers;
}

std::uint64_t total(const Counters& counters) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kOutcomes; ++i) sum += counters.of(static_cast<Outcome>(i));
  return sum;
}

double share(std::uint64_t part, std::uint64_t whole, double if_nothing) {
  return whole == 0 ? if_nothing : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

double average(std::uint64_t sum, std::uint64_t count) {
  return count == 0 ? 0.0 : static_cast<double>(sum) / static_cast<double>(count);
}

}  // namespace

void Counters::count(const LogRecord& record) {
  // The metrics have no columns of their own for bearer tokens.
  const auto login = record.login == Login::kBearer ? Login::kKey : record.login;
  ++answers[static_cast<std::size_t>(record.outcome)][static_cast<std::size_t>(login)];
  ingress += record.request_head_bytes + record.request_body_bytes;
  egress += record.response_head_bytes + record.response_body_bytes;
  if (record.outcome != kSuccess) return;
  end_to_end_ms += record.end_to_end_ms;
  server_ms += record.server_ms;
}

void Counters::add(const Counters& other) {
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    for (std::size_t j = 0; j < kLogins; ++j) answers[i][j] += other.answers[i][j];
  }
  ingress += other.ingress;
  egress += other.egress;
  end_to_end_ms += other.end_to_end_ms;
  server_ms += other.server_ms;
}

std::uint64_t Counters::of(Outcome outcome) const {
  const auto& logins = answers[static_cast<std::size_t>(outcome)];
  return std::accumulate(logins.begin(), logins.end(), std::uint64_t{0});
}

std::string encode_counters(const Counters& counters) { return kCountersRecord.encode(counters); }
Result<Counters> decode_counters(std::string_view bytes) { return kCountersRecord.decode(bytes); }

std::vector<Column> columns_of(const Counters& counters) {
  const auto all = total(counters);
  const auto paid = billable(counters);
  const auto ours = counters.of(kServerTimeoutError) + counters.of(kServerOtherError);
  const auto good = counters.of(kSuccess);
  std::vector<Column> out;
  const auto number = [&](std::string name, std::uint64_t value) {
    out.push_back({std::move(name), static_cast<std::int64_t>(value)});
  };
  number("TotalIngress", counters.ingress);
  number("TotalEgress", counters.egress);
  number("TotalRequests", all);
  number("TotalBillableRequests", paid);
  out.push_back({"Availability", share(paid, paid + ours, 100)});
  out.push_back({"AverageE2ELatency", average(counters.end_to_end_ms, good)});
  out.push_back({"AverageServerLatency", average(counters.server_ms, good)});
  out.push_back({"PercentSuccess", share(good, all, 100)});
  const auto percent = [&](std::string name, std::uint64_t part) {
    out.push_back({std::move(name), share(part, all, 0)});
  };
  percent("PercentThrottlingError", counters.of(kThrottlingError));
  percent("PercentTimeoutError", counters.of(kClientTimeoutError) + counters.of(kServerTimeoutError));
  percent("PercentServerOtherError", counters.of(kServerOtherError));
  percent("PercentClientOtherError", counters.of(kClientOtherError));
  percent("PercentAuthorizationError", counters.of(kAuthorizationError));
  percent("PercentNetworkError", counters.of(kNetworkError));
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    for (const auto login : {Login::kKey, Login::kAnonymous, Login::kSas}) {
      number(status_name(static_cast<Outcome>(i), login), counters.answers[i][static_cast<std::size_t>(login)]);
    }
  }
  return out;
}

Time period_of(Grain grain, Time time) {
  return grain == Grain::kHour ? hour_of(time) : Time(std::chrono::floor<std::chrono::minutes>(time));
}

Time end_of_period(Grain grain, Time period) {
  return period + (grain == Grain::kHour ? Duration(std::chrono::hours(1)) : Duration(std::chrono::minutes(1)));
}

std::string partition_of(Time period) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(period);
  return fmt::format("{:%Y%m%dT%H%M}", fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)));
}

std::string metrics_table(Grain grain, std::string_view service) {
  std::string out = grain == Grain::kHour ? "$MetricsHourPrimaryTransactions" : "$MetricsMinutePrimaryTransactions";
  out += service;
  auto& initial = out[out.size() - service.size()];
  initial = static_cast<char>(initial - 'a' + 'A');
  return out;
}

}  // namespace tidemark::analytics
