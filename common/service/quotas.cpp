#include "common/service/quotas.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "common/base/log.h"

namespace tidemark::service {
namespace {

constexpr std::uint64_t kMiB = 1UL << 20;
/// An account with such a small bound is always counted: estimates of so little are too rough, and a count is quick.
constexpr std::uint64_t kSmallBound = 256 * kMiB;
/// The announced growth of one request counts as no more than this, so that no sum overflows.
constexpr Growth kMostAtOnce = {.units = 1UL << 48, .bytes = 1UL << 48};

using QuotasFace = rpc::Face<Quotas>;
Result<std::vector<AccountUse>> read_use(Quotas& quotas, const ReadAccountUse&) { return quotas.use(); }
constexpr QuotasFace::Handler kQuotasHandlers[] = {QuotasFace::on<ReadAccountUse, &read_use>()};

Growth countable(const Growth& growth) {
  return {.units = std::min(growth.units, kMostAtOnce.units), .bytes = std::min(growth.bytes, kMostAtOnce.bytes)};
}

auth::Bounds bounds_of(const QuotaSettings& settings) {
  return {.units = static_cast<std::uint64_t>(settings.units),
          .bytes = static_cast<std::uint64_t>(settings.mib) * kMiB};
}

}  // namespace

void declare(process::Settings& settings, QuotaSettings& values, const std::string& unit) {
  settings.add("max_" + unit + "s_of_account", values.units, 0, 1'000'000'000,
               unit + "s that an account may have, unless accounts say otherwise of it; 0: as many as it likes");
  settings.add("max_mib_of_account", values.mib, 0, 1'000'000'000'000,
               "MiB that an account may have in this store, unless accounts say otherwise of it; 0: as many as it "
               "likes");
}

std::optional<std::uint64_t> Quotas::Amount::used() const {
  std::optional<std::uint64_t> least;
  const bool counted = bound <= kSmallBound && measured[static_cast<std::size_t>(Measure::kCount)];
  for (const auto& each : std::span(measured).subspan(counted ? 1 : 0)) {
    if (!each) continue;
    const auto now = static_cast<std::int64_t>(each->amount) + (added - each->since);
    const auto amount = static_cast<std::uint64_t>(std::max<std::int64_t>(now, 0));
    least = std::min(least.value_or(amount), amount);
  }
  if (least) *least += in_flight;
  return least;
}

bool Quotas::Amount::has_room(std::uint64_t more) const {
  return bound == 0 || used().value_or(in_flight) + more <= bound;
}

void Quotas::Amount::end(std::uint64_t admitted, std::int64_t change) {
  in_flight -= std::min(in_flight, admitted);
  added += change;
}

Quotas::Quotas(auth::Service service, std::string unit, const QuotaSettings& defaults,
               const std::vector<auth::Account>& accounts, process::Metrics& metrics)
    : service_(service),
      unit_(std::move(unit)),
      defaults_(bounds_of(defaults)),
      figures_(std::make_shared<process::Figures>([this] { return figures(); })) {
  const char* const name = "tidemark_account_refusals_total";
  const char* const help = "Requests refused because the account has as much as it may have.";
  refusals_ = {&metrics.counter(name, help, {{"of", unit_ + "s"}}), &metrics.counter(name, help, {{"of", "bytes"}})};
  metrics.add(figures_);
  set_bounds(accounts);
}

void Quotas::use_accounts(const std::vector<auth::Account>& accounts) {
  set_bounds(accounts);
  if (measure_soon_) measure_soon_();
}

void Quotas::set_bounds(const std::vector<auth::Account>& accounts) {
  const MutexLock lock(mutex_);
  std::map<std::string, Account, std::less<>> next;
  bool any = false;
  for (const auto& account : accounts) {
    const auto& own = account.bounds[static_cast<std::size_t>(service_)];
    const auto known = accounts_.find(account.name);
    auto& kept = next[account.name] = known == accounts_.end() ? Account() : known->second;
    kept.units.bound = own.units.value_or(*defaults_.units);
    kept.bytes.bound = own.bytes.value_or(*defaults_.bytes);
    any = any || kept.units.bound != 0 || kept.bytes.bound != 0;
  }
  accounts_ = std::move(next);
  bounds_any_ = any;
}

Result<void> Quotas::admit(std::string_view account, const Growth& announced, bool bytes) {
  const auto growth = countable(announced);
  const auto refused = [&]() -> std::optional<Error> {
    const MutexLock lock(mutex_);
    const auto found = accounts_.find(account);
    if (found == accounts_.end()) return std::nullopt;
    auto& of = found->second;
    if (growth.units > 0 && !of.units.has_room(growth.units)) return refusal(account, of, true);
    if (bytes && !of.bytes.has_room(std::max<std::uint64_t>(growth.bytes, 1))) return refusal(account, of, false);
    of.units.in_flight += growth.units;
    of.bytes.in_flight += growth.bytes;
    return std::nullopt;
  }();
  if (!refused) return {};
  if (measure_soon_) measure_soon_();
  return fail(*refused);
}

void Quotas::settle(std::string_view account, const Growth& announced, const Growth& added, std::uint64_t removed) {
  const auto admitted = countable(announced);
  const MutexLock lock(mutex_);
  const auto found = accounts_.find(account);
  if (found == accounts_.end()) return;
  auto& of = found->second;
  of.units.end(admitted.units, static_cast<std::int64_t>(added.units) - static_cast<std::int64_t>(removed));
  of.bytes.end(admitted.bytes, static_cast<std::int64_t>(added.bytes));
}

Error Quotas::refusal(std::string_view account, const Account& of, bool units) const {
  refusals_.at(units ? 0 : 1)->Increment();
  auto error = make_error(
      ErrorCode::kInsufficientAccountPermissions,
      units ? fmt::format("The account may have {} {}s, and has them. Delete one, or have the operator of the store "
                          "raise {}s= of the account.",
                          of.units.bound, unit_, unit_)
            : fmt::format("The account may have {} bytes in this store, and this would be more. Delete something, or "
                          "have the operator of the store raise {}_bytes= of the account.",
                          of.bytes.bound, service_ == auth::Service::kBlob ? "blob" : unit_));
  error.detail = std::string(account) + " has as much as it may have";
  return error;
}

std::vector<std::string> Quotas::accounts() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, account] : accounts_) names.push_back(name);
  return names;
}

Quotas::Ticket Quotas::begin_measure(const std::string& account) const {
  const MutexLock lock(mutex_);
  const auto found = accounts_.find(account);
  return found == accounts_.end() ? Ticket() : Ticket{found->second.units.added, found->second.bytes.added};
}

void Quotas::publish(const std::string& account, Measure how, const Ticket& ticket, const Amounts& amounts) {
  const MutexLock lock(mutex_);
  const auto found = accounts_.find(account);
  if (found == accounts_.end()) return;
  auto& [units, bytes] = found->second;
  units.measured = {Amount::Measured{amounts.units, ticket.units}, std::nullopt};  // units are exact in both measures
  if (amounts.bytes) bytes.measured.at(static_cast<std::size_t>(how)) = {*amounts.bytes, ticket.bytes};
  // A count gets old: writes of workers are not followed here.
  const bool far =
      bytes.bound == 0 || (amounts.bytes && bytes.bound > kSmallBound && !is_near(*amounts.bytes, bytes.bound));
  if (how == Measure::kEstimate && far) bytes.measured[static_cast<std::size_t>(Measure::kCount)].reset();
  tell(account, unit_ + "s", units);
  tell(account, "bytes", bytes);
}

/// Logs each level once, until the account has been clearly below it.
void Quotas::tell(const std::string& account, const std::string& what, Amount& amount) const {
  const auto used = amount.used().value_or(0);
  const auto level = amount.bound == 0             ? kFar
                     : used >= amount.bound        ? kFull
                     : is_near(used, amount.bound) ? kNear
                                                   : kFar;
  if (level > amount.told) {
    log_warning("{} account={} of={} used={} bound={}",
                level == kFull ? "an account has as much as it may have; what adds to it is refused"
                               : "an account has nearly as much as it may have",
                account, what, used, amount.bound);
    amount.told = level;
  } else if (level < amount.told && !is_near(used + used / 10, amount.bound)) {
    log_info("an account is well below its bound again account={} of={} used={} bound={}", account, what, used,
             amount.bound);
    amount.told = kFar;
  }
}

bool Quotas::needs_count(const std::string& account) const {
  const MutexLock lock(mutex_);
  const auto found = accounts_.find(account);
  if (found == accounts_.end() || found->second.bytes.bound == 0) return false;
  const auto& bytes = found->second.bytes;
  const auto& estimated = bytes.measured[static_cast<std::size_t>(Measure::kEstimate)];
  return !estimated || bytes.bound <= kSmallBound || is_near(estimated->amount, bytes.bound);
}

std::vector<AccountUse> Quotas::use() const {
  const MutexLock lock(mutex_);
  std::vector<AccountUse> out;
  for (const auto& [name, of] : accounts_) {
    out.push_back({name, unit_, of.units.used().value_or(0), of.units.bound, of.bytes.used(), of.bytes.bound});
  }
  return out;
}

rpc::Dispatch Quotas::beside(rpc::Dispatch store) {
  return rpc::make_dispatch(*this, kQuotasHandlers, std::move(store));
}

std::vector<prometheus::MetricFamily> Quotas::figures() const {
  using prometheus::MetricType;
  prometheus::MetricFamily used{
      "tidemark_account_used", "What an account has in the store: how many, or bytes.", MetricType::Gauge, {}};
  prometheus::MetricFamily bound{
      "tidemark_account_bound", "What it may have; without a value, as much as it likes.", MetricType::Gauge, {}};
  const auto add = [&](const std::string& account, const std::string& of, std::optional<std::uint64_t> amount,
                       std::uint64_t most) {
    if (amount) process::add_value(used, static_cast<double>(*amount), {{"account", account}, {"of", of}});
    if (most > 0) process::add_value(bound, static_cast<double>(most), {{"account", account}, {"of", of}});
  };
  for (const auto& each : use()) {
    add(each.account, unit_ + "s", each.units, each.most_units);
    add(each.account, "bytes", each.bytes, each.most_bytes);
  }
  return {std::move(used), std::move(bound)};
}

}  // namespace tidemark::service
