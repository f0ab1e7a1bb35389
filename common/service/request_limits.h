// Limits the request rates of each account and each address, and, to test clients, enforces the service's own targets
// for accounts, partitions of tables and queues. A client over its rate is told when to ask again, before anything is
// done. Amounts that are known only afterwards, such as the size of an answer, are owed. Thread safe.
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

/// A refusal with kServerBusy, and when the client may come back.
struct TooMuch {
  Error error;
  std::uint64_t retry_after_s = 1;
};
using Admitted = std::optional<TooMuch>;  // nothing: admitted

class RequestLimits {
 public:
  RequestLimits(AddressRates addresses, AccountRates accounts, process::Metrics& metrics);

  /// Admits a request by its address before it is looked at; every client counts.
  Admitted admit_address(const http::Request& request);
  /// Admits a request once its caller is known, so that nobody can use up the account of another.
  Admitted admit_account(std::string_view account, const http::Request& request);
  /// Admits items of a part of the account's data: of {table, partition} or {queue}.
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
  /// `who`: the account or address, for the log.
  Admitted judge(RateBuckets::Wait wait, Reason reason, std::string_view who);

  RateBuckets address_requests_, address_in_, address_out_;
  RateBuckets account_requests_, account_in_, account_out_, account_items_, part_items_;
  std::array<prometheus::Counter*, kReasons> refused_{};
};

/// Sets Retry-After, and a pause of the connection for clients that ignore it.
void tell_when(std::uint64_t retry_after_s, http::Response& response);

}  // namespace tidemark::service
