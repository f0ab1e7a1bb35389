#include "common/service/request_limits.h"

#include "common/http/host_name.h"

namespace tidemark::service {
namespace {

struct ReasonText {
  const char* label;    // the label in the metric
  const char* setting;  // the setting, for the log
  const char* message;  // the message to the client, in the service's words
};
constexpr ReasonText kTexts[] = {
    {"address_requests", "max_requests_per_s_of_address", "Operations per second is over the limit of an address."},
    {"address_ingress", "max_bytes_per_s_of_address", "Ingress is over the limit of an address."},
    {"address_egress", "max_bytes_per_s_of_address", "Egress is over the limit of an address."},
    {"account_requests", "max_requests_per_s_of_account", "Operations per second is over the account limit."},
    {"account_ingress", "max_bytes_per_s_of_account", "Ingress is over the account limit."},
    {"account_egress", "max_bytes_per_s_of_account", "Egress is over the account limit."},
    {"account_items", "service_targets", "Operations per second is over the account limit."},
    {"part_items", "service_targets", "The server is busy."},
};

constexpr Duration kPauseAfterRefusal = std::chrono::milliseconds(250);
constexpr std::uint64_t kWholeSecond = 1'000'000'000;

std::uint64_t key_of(const std::string& address) { return RateBuckets::key({http::network_of(address)}); }

std::uint64_t bytes_of(const http::Response& response) {
  return response.source ? response.source_length.value_or(0) : response.body.size();
}

}  // namespace

void declare(process::Settings& settings, AddressRates& rates) {
  constexpr std::int64_t kMost = 1'000'000'000;
  settings.add("max_requests_per_s_of_address", rates.requests, 0, kMost,
               "requests per second from one address; more are answered with 503 ServerBusy; 0: no limit");
  settings.add("max_bytes_per_s_of_address", rates.bytes, 0, kMost * 1000,
               "bytes per second from one address, and as many to it; 0: no limit");
}

void declare(process::Settings& settings, AccountRates& rates) {
  constexpr std::int64_t kMost = 1'000'000'000;
  settings.add("max_requests_per_s_of_account", rates.requests, 0, kMost,
               "requests per second to one account; more are answered with 503 ServerBusy; 0: no limit");
  settings.add("max_bytes_per_s_of_account", rates.bytes, 0, kMost * 1000,
               "bytes per second to one account, and as many from it; 0: no limit");
}

RequestLimits::RequestLimits(AddressRates addresses, AccountRates accounts, process::Metrics& metrics)
    : address_requests_(static_cast<std::uint64_t>(addresses.requests)),
      address_in_(static_cast<std::uint64_t>(addresses.bytes)),
      address_out_(static_cast<std::uint64_t>(addresses.bytes)),
      account_requests_(static_cast<std::uint64_t>(accounts.requests)),
      account_in_(static_cast<std::uint64_t>(accounts.bytes)),
      account_out_(static_cast<std::uint64_t>(accounts.bytes)),
      account_items_(static_cast<std::uint64_t>(accounts.items)),
      part_items_(static_cast<std::uint64_t>(accounts.part_items)) {
  for (std::size_t reason = 0; reason < kReasons; ++reason) {
    refused_[reason] = &metrics.counter("tidemark_requests_limited_total",
                                        "Requests refused because an account or address asked for too much.",
                                        {{"reason", kTexts[reason].label}});
  }
}

Admitted RequestLimits::judge(RateBuckets::Wait wait, Reason reason, std::string_view who) {
  if (wait == RateBuckets::Wait::zero()) return std::nullopt;
  refused_[reason]->Increment();
  const auto& text = kTexts[reason];
  auto error = make_error(ErrorCode::kServerBusy, text.message);
  error.detail = std::string(who) + " is over " + text.setting;
  return TooMuch{std::move(error), (static_cast<std::uint64_t>(wait.count()) + kWholeSecond - 1) / kWholeSecond};
}

Admitted RequestLimits::admit_address(const http::Request& request) {
  if (!address_requests_.limits() && !address_in_.limits()) return std::nullopt;
  const auto now = std::chrono::steady_clock::now();
  const auto key = key_of(request.remote_address);
  const auto& who = request.remote_address;
  if (auto refusal = judge(address_out_.take(key, 0, now), kAddressEgress, who)) return refusal;
  const auto bytes = request.body->content_length().value_or(0);
  if (auto refusal = judge(address_in_.take(key, bytes, now), kAddressIngress, who)) return refusal;
  return judge(address_requests_.take(key, 1, now), kAddressRequests, who);
}

Admitted RequestLimits::admit_account(std::string_view account, const http::Request& request) {
  if (!account_requests_.limits() && !account_in_.limits()) return std::nullopt;
  const auto now = std::chrono::steady_clock::now();
  const auto key = RateBuckets::key({account});
  if (auto refusal = judge(account_out_.take(key, 0, now), kAccountEgress, account)) return refusal;
  const auto bytes = request.body->content_length().value_or(0);
  if (auto refusal = judge(account_in_.take(key, bytes, now), kAccountIngress, account)) return refusal;
  return judge(account_requests_.take(key, 1, now), kAccountRequests, account);
}

Admitted RequestLimits::admit_items(std::string_view account, std::initializer_list<std::string_view> part,
                                    std::uint64_t count) {
  if (!counts_items()) return std::nullopt;
  const auto now = std::chrono::steady_clock::now();
  const auto of_account = RateBuckets::key({account});
  const auto of_part = of_account ^ RateBuckets::key(part);
  // A request that the part refuses takes nothing from the account.
  if (auto refusal = judge(account_items_.take(of_account, 0, now), kAccountItems, account)) return refusal;
  if (auto refusal = judge(part_items_.take(of_part, count, now), kPartItems, account)) return refusal;
  account_items_.charge(of_account, count, now);
  return std::nullopt;
}

void RequestLimits::charge_items(std::string_view account, std::initializer_list<std::string_view> part,
                                 std::uint64_t count) {
  if (!counts_items() || count == 0) return;
  const auto now = std::chrono::steady_clock::now();
  const auto of_account = RateBuckets::key({account});
  part_items_.charge(of_account ^ RateBuckets::key(part), count, now);
  account_items_.charge(of_account, count, now);
}

void RequestLimits::answered_address(const http::Request& request, const http::Response& response) {
  if (!address_out_.limits()) return;
  const auto now = std::chrono::steady_clock::now();
  const auto key = key_of(request.remote_address);
  address_out_.charge(key, bytes_of(response), now);
  // The length of a chunked body is known only after reading it.
  if (!request.body->content_length()) address_in_.charge(key, request.body->bytes_read(), now);
}

void RequestLimits::answered_account(std::string_view account, const http::Request& request,
                                     const http::Response& response) {
  if (!account_out_.limits()) return;
  const auto now = std::chrono::steady_clock::now();
  const auto key = RateBuckets::key({account});
  account_out_.charge(key, bytes_of(response), now);
  if (!request.body->content_length()) account_in_.charge(key, request.body->bytes_read(), now);
}

void tell_when(std::uint64_t retry_after_s, http::Response& response) {
  response.set("Retry-After", std::to_string(retry_after_s));
  response.pause = kPauseAfterRefusal;
}

}  // namespace tidemark::service
