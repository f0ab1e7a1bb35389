// How much each account and each address may ask of a server, and, to test clients, the service's own targets for
// accounts, partitions of tables and queues. Whoever asks for more is told when to ask again, before anything is done.
// What is known only afterwards, such as the size of an answer, is owed. Thread safe.
#pragma once
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/http/http.h"
#include "common/process/config.h"
#include "common/process/metrics.h"
#include "common/service/rate_buckets.h"

namespace tidemark::service {

/// Settings; per second, 0 for no limit.
struct AddressRates {
  std::int64_t requests = 0;
  std::int64_t bytes = 0;  // each way
};
struct AccountRates {
  std::int64_t requests = 0;
  std::int64_t bytes = 0;  // each way
  std::int64_t items = 0;  // entities, messages
  std::int64_t part_items = 0;
};
void declare(process::Settings& settings, AddressRates& rates);
void declare(process::Settings& settings, AccountRates& rates);

/// kServerBusy, and when to come back.
struct TooMuch {
  Error error;
  std::uint64_t retry_after_s = 1;
};
using Admitted = std::optional<TooMuch>;  // nothing: admitted

class RequestLimits {
 public:
  RequestLimits(AddressRates addresses, AccountRates accounts, process::Metrics& metrics);

  /// Before the request is looked at; anybody counts.
  Admitted admit_address(const http::Request& request);
  /// Once it is known who asks, so that nobody can use up the account of another.
  Admitted admit_account(std::string_view account, const http::Request& request);
  /// Items of a part of the account's data: of {table, partition} or {queue}.
  Admitted admit_items(std::string_view account, std::initializer_list<std::string_view> part, std::uint64_t count);
  void charge_items(std::string_view account, std::initializer_list<std::string_view> part, std::uint64_t count);
  [[nodiscard]] bool counts_items() const { return account_items_.limits() || part_items_.limits(); }

  void answered_address(const http::Request& request, const http::Response& response);
  void answered_account(std::string_view account, const http::Request& request, const http::Response& response);

 private:
  enum Reason : std::uint8_t {
    kAddressRequests,
    kAddressIngress,
    kAddressEgress,
    kAccountRequests,
    kAccountIngress,
    kAccountEgress,
    kAccountItems,
    kPartItems,
    kReasons,
  };
  /// `who`: for the log.
  Admitted judge(RateBuckets::Wait wait, Reason reason, std::string_view who);

  RateBuckets address_requests_, address_in_, address_out_;
  RateBuckets account_requests_, account_in_, account_out_, account_items_, part_items_;
  std::array<prometheus::Counter*, kReasons> refused_{};
};

/// Sets Retry-After. A client that does not wait for that waits at least for its connection.
void tell_when(std::uint64_t retry_after_s, http::Response& response);

}  // namespace tidemark::service
