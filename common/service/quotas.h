// The bounds of each account in a store: how many tables, queues or containers, and how many bytes. A request that adds
// something is admitted before anything is done, and settled at its end. Nothing of this is stored: the data of an
// account is measured now and then (quota_watch.h), and additions since then are followed here. So a transaction counts
// nothing, a kill loses nothing, and a store that is divided into shards adds up the measures of all its shards. Thread
// safe.
#pragma once
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/auth/authenticator.h"
#include "common/base/mutex.h"
#include "common/process/config.h"
#include "common/process/metrics.h"
#include "common/rpc/call.h"
#include "common/service/holdings.h"

namespace tidemark::service {

/// The settings for accounts that have no bounds of their own; 0: no bound.
struct QuotaSettings {
  std::int64_t units = 0;
  std::int64_t mib = 0;
};
/// `unit`: such as "table".
void declare(process::Settings& settings, QuotaSettings& values, const std::string& unit);

/// The growth that a request brings to an account.
struct Growth {
  std::uint64_t units = 0;
  std::uint64_t bytes = 0;
};

struct AccountUse {
  std::string account;
  std::string unit;                         // such as "table"
  std::uint64_t units = 0, most_units = 0;  // most_units 0: no bound
  std::optional<std::uint64_t> bytes = {};  // nothing: not known yet, or not needed
  std::uint64_t most_bytes = 0;
};
/// Asks for the use and the bounds of all accounts in a store.
struct ReadAccountUse {
  static constexpr std::string_view kMethod = "accounts.use";
  using Reply = std::vector<AccountUse>;
  std::string account;
};

/// Operators are warned from this share of a bound on.
inline constexpr std::uint64_t kNearPercent = 80;
inline bool is_near(std::uint64_t used, std::uint64_t bound) {
  return bound != 0 && used >= bound / 100 * kNearPercent + bound % 100 * kNearPercent / 100;
}

class Quotas {
 public:
  /// `unit`: such as "table". Accounts are known from the beginning, so that they are measured before the first
  /// request.
  Quotas(auth::Service service, std::string unit, const QuotaSettings& defaults,
         const std::vector<auth::Account>& accounts, process::Metrics& metrics);

  /// Replaces the accounts after they were read again.
  void use_accounts(const std::vector<auth::Account>& accounts);
  /// Sets a function that is called, without a lock, when a request was refused or the accounts changed. Call before
  /// the first request.
  void when_to_measure(std::function<void()> measure) { measure_soon_ = std::move(measure); }

  /// Admits an announced growth, which counts until it is settled, or fails with kInsufficientAccountPermissions. With
  /// `bytes`, the request adds bytes and does not say how many: it is refused once the bound is reached.
  Result<void> admit(std::string_view account, const Growth& announced, bool bytes);
  /// Settles an admitted growth at the end of its request: `added` is the real growth, and `removed` counts removed
  /// units.
  void settle(std::string_view account, const Growth& announced, const Growth& added, std::uint64_t removed);
  /// Tells whether any account has bounds; the other calls cost something only then.
  [[nodiscard]] bool bounds_any() const { return bounds_any_.load(std::memory_order_relaxed); }

  // For the measuring thread. A measure counts from the moment of its ticket.
  struct Ticket {
    std::int64_t units = 0, bytes = 0;
  };
  enum class Measure : std::uint8_t { kEstimate, kCount };
  [[nodiscard]] std::vector<std::string> accounts() const;
  [[nodiscard]] Ticket begin_measure(const std::string& account) const;
  void publish(const std::string& account, Measure how, const Ticket& ticket, const Amounts& amounts);
  /// Tells whether the account has a bound of bytes and is, as far as is known, near to it.
  [[nodiscard]] bool needs_count(const std::string& account) const;

  [[nodiscard]] std::vector<AccountUse> use() const;
  /// Answers ReadAccountUse, and passes all other calls to `store`.
  rpc::Dispatch beside(rpc::Dispatch store);

 private:
  enum Level : std::uint8_t { kFar, kNear, kFull };
  /// One of the two amounts of an account: units or bytes. Each measure, plus the additions since, is at least the true
  /// amount; the smaller one is nearer to it.
  struct Amount {
    struct Measured {
      std::uint64_t amount = 0;
      std::int64_t since = 0;  // the value of `added` at that time
    };
    std::uint64_t bound = 0;
    std::uint64_t in_flight = 0;
    std::int64_t added = 0;                                // less the removed amount
    std::array<std::optional<Measured>, 2> measured = {};  // by Measure
    Level told = kFar;

    [[nodiscard]] std::optional<std::uint64_t> used() const;
    [[nodiscard]] bool has_room(std::uint64_t more) const;
    void end(std::uint64_t admitted, std::int64_t change);
  };
  struct Account {
    Amount units, bytes;
  };

  void set_bounds(const std::vector<auth::Account>& accounts);
  [[nodiscard]] Error refusal(std::string_view account, const Account& of, bool units) const;
  void tell(const std::string& account, const std::string& what, Amount& amount) const;
  [[nodiscard]] std::vector<prometheus::MetricFamily> figures() const;

  const auth::Service service_;
  const std::string unit_;
  const auth::Bounds defaults_;
  std::function<void()> measure_soon_;
  std::atomic<bool> bounds_any_{false};
  mutable Mutex mutex_;
  std::map<std::string, Account, std::less<>> accounts_ GUARDED_BY(mutex_);
  std::array<prometheus::Counter*, 2> refusals_{};  // of units, of bytes
  std::shared_ptr<process::Figures> figures_;
};

}  // namespace tidemark::service
