#include "common/shards/operation_ledgers.h"

#include <algorithm>
#include <set>

#include "common/base/record.h"
#include "common/shards/peers.h"

namespace tidemark::shards {

/// The row of an operation on one shard.
struct OperationLedgers::Row {
  OperationLedger ledger;
  /// At home: every listed shard has this epoch or a higher one. Elsewhere: this shard was known to have this epoch.
  std::uint64_t raised = 0;
  std::vector<std::uint64_t> shards = {};  // at home: the listed shards, without the home

  [[nodiscard]] bool behind(std::uint64_t epoch) const { return !shards.empty() && raised < epoch; }
  void list(std::uint64_t shard) {
    if (std::ranges::find(shards, shard) == shards.end()) shards.push_back(shard);
  }
};

struct OperationLedgers::Operation {
  std::string account, id, key;
  std::size_t home = 0;
};

namespace {

constexpr std::size_t kMaxCounters = 64;

/// Forgets the work under an earlier text. The ledger refuses the epoch of a worker that still does that work from now
/// on.
void forget_earlier_text(OperationLedger& ledger, std::uint64_t since) {
  if (since == 0 || ledger.epoch > since) return;
  ledger.closed = false;
  ledger.counters.clear();
}

/// Raises the ledger's epoch. kFenced if the epoch is lower than the ledger's or the operation is closed.
Result<void> pass_fence(OperationLedger& ledger, std::uint64_t epoch) {
  if (test_switches::ignore_fence.load(std::memory_order_relaxed)) return {};
  if (epoch < ledger.epoch || ledger.closed) return fail(ErrorCode::kFenced);
  ledger.epoch = epoch;
  return {};
}

Result<void> add_to_counter(OperationLedger& ledger, std::string_view name, std::uint64_t amount) {
  const auto found = std::ranges::find(ledger.counters, name, &std::pair<std::string, std::uint64_t>::first);
  if (found != ledger.counters.end()) {
    found->second += amount;
    return {};
  }
  if (ledger.counters.size() == kMaxCounters) {
    return fail(ErrorCode::kInvalidInput, "An operation has too many counters.");
  }
  ledger.counters.emplace_back(name, amount);
  return {};
}

Result<void> close(OperationLedger& ledger, std::uint64_t epoch, std::uint64_t since) {
  forget_earlier_text(ledger, since);
  // Closing again with the same epoch succeeds, because the reply to the first close may have been lost.
  if (ledger.closed && ledger.epoch == epoch) return {};
  TRY(pass_fence(ledger, epoch));
  ledger.closed = true;
  return {};
}

/// Raises the epoch. A ledger that an earlier attempt had closed here is open again: that attempt did not get to close
/// the home, and now never will.
Result<void> raise(OperationLedger& ledger, std::uint64_t epoch, std::uint64_t since) {
  forget_earlier_text(ledger, since);
  if (ledger.epoch < epoch) ledger.closed = false;
  return ledger.closed ? Result<void>() : pass_fence(ledger, epoch);
}

Result<void> do_work(OperationLedger& ledger, const Fence& fence, const OperationLedgers::Effect& effect) {
  TRY(pass_fence(ledger, fence.epoch));
  const auto applied = TRY(effect(ledger));
  if (applied == 0 || fence.count_applied_as.empty()) return {};
  return add_to_counter(ledger, fence.count_applied_as, applied);
}

/// The row of an operation that writes to several shards.
struct DividedRow {
  std::uint64_t raised = 0;
  std::vector<std::uint64_t> shards;
  std::string ledger;
};
constexpr std::uint8_t kDivided = 2;
constexpr auto kDividedRow = record_format<DividedRow>(kDivided, "ledger of shards", [](auto& io, auto& row) {
  io.string(row.ledger);
  io.varint(row.raised);
  io.list(row.shards, [&](auto& shard) { io.varint(shard); });
});

bool is_divided(std::string_view bytes) {
  return !bytes.empty() && static_cast<std::uint8_t>(bytes.front()) == kDivided;
}

}  // namespace

OperationLedgers::OperationLedgers(const Shards& shards, KeyOf key_of, const FailStep* step)
    : placement_(shards.placement), peers_(shards.peers), key_of_(key_of), step_(step) {
  for (const auto& shard : shards.all) engines_.push_back(&shard.engine);
}

Task<Result<void>> OperationLedgers::change_ledger(std::uint64_t shard, LedgerChange change) const {
  const bool enters = change.what == LedgerChange::What::kEnter;
  return enters ? enter_at_home(std::move(change)) : change_here(shard, std::move(change));
}

Task<Result<void>> OperationLedgers::have_changed(std::uint64_t shard, LedgerChange change) const {
  return carry_out(peers_, {.shard = shard}, calls::ChangeLedger{shard, std::move(change)},
                   [this](calls::ChangeLedger here) { return change_ledger(here.shard, std::move(here.change)); });
}

std::size_t OperationLedgers::home_of(std::string_view account, std::string_view operation_id) const {
  return placement_.of({account, operation_id});
}

OperationLedgers::Operation OperationLedgers::operation(std::string_view account, std::string_view operation_id) const {
  return {std::string(account), std::string(operation_id), key_of_(account, operation_id),
          home_of(account, operation_id)};
}

Result<std::optional<OperationLedgers::Row>> OperationLedgers::find(const kv::Reader& reader, const std::string& key) {
  const auto bytes = TRY(reader.get(key));
  if (!bytes) return std::optional<Row>();
  if (!is_divided(*bytes)) return std::optional(Row{.ledger = TRY(decode_ledger(*bytes))});
  auto row = TRY(kDividedRow.decode(*bytes));
  return std::optional(Row{TRY(decode_ledger(row.ledger)), row.raised, std::move(row.shards)});
}

void OperationLedgers::store(kv::Transaction& txn, const std::string& key, const Row& row) {
  auto bytes = encode_ledger(row.ledger);
  if (row.raised > 0 || !row.shards.empty()) bytes = kDividedRow.encode({row.raised, row.shards, std::move(bytes)});
  txn.put(key, bytes);
}

Result<bool> OperationLedgers::fenced_on(std::size_t shard, kv::Transaction& txn, std::string_view account,
                                         const Fence& fence, bool entered, const Effect& effect) const {
  const auto key = key_of_(account, fence.operation_id);
  auto found = TRY(find(txn, key));
  const bool elsewhere = shard != home_of(account, fence.operation_id);
  const bool known = elsewhere ? found && found->raised >= fence.epoch : !found || !found->behind(fence.epoch);
  if (!known && !entered) return false;
  auto row = std::move(found).value_or(Row{});
  forget_earlier_text(row.ledger, fence.since);
  TRY(do_work(row.ledger, fence, effect));
  if (elsewhere) row.raised = std::max(row.raised, fence.epoch);
  store(txn, key, row);
  return true;
}

Task<Result<void>> OperationLedgers::enter(std::size_t shard, std::string account, Fence fence) const {
  CO_TRY(check_operation_id(fence.operation_id));
  const auto home = home_of(account, fence.operation_id);
  co_return co_await have_changed(home, {LedgerChange::What::kEnter, std::move(account), std::move(fence.operation_id),
                                         fence.epoch, fence.since, shard});
}

Task<Result<void>> OperationLedgers::enter_at_home(LedgerChange entering) const {
  const auto entered = operation(entering.account, entering.operation_id);
  auto home = CO_TRY(co_await change_home(entered, [&](Row& changed) -> Result<void> {
    forget_earlier_text(changed.ledger, entering.since);
    TRY(pass_fence(changed.ledger, entering.epoch));
    if (entering.entering == entered.home) return {};
    if (changed.shards.empty()) changed.raised = entering.epoch;
    changed.list(entering.entering);
    return {};
  }));
  co_return co_await raise_listed(entered, std::move(home), entering.epoch, entering.since);
}

Task<Result<OperationLedgers::Row>> OperationLedgers::change_home(const Operation& operation, Change change) const {
  Row home;
  CO_TRY(co_await engines_[operation.home]->transact(
      [&](kv::Transaction& txn) -> Result<void> {
        home = TRY(find(txn, operation.key)).value_or(Row{});
        TRY(change(home));
        store(txn, operation.key, home);
        return {};
      },
      step_));
  co_return home;
}

Task<Result<void>> OperationLedgers::change_listed(const std::vector<std::uint64_t>& shards,
                                                   LedgerChange change) const {
  for (const auto shard : shards) {
    if (shard >= engines_.size()) co_return corrupt_record("ledger of shards");
    CO_TRY(co_await have_changed(shard, change));
  }
  co_return Result<void>{};
}

Task<Result<void>> OperationLedgers::change_here(std::uint64_t shard, LedgerChange change) const {
  const auto key = key_of_(change.account, change.operation_id);
  co_return co_await engines_[shard]->transact(
      [&](kv::Transaction& txn) -> Result<void> {
        if (change.what == LedgerChange::What::kForget) {
          txn.erase(key);
          return {};
        }
        auto row = TRY(find(txn, key)).value_or(Row{});
        TRY(change.what == LedgerChange::What::kRaise ? raise(row.ledger, change.epoch, change.since)
                                                      : close(row.ledger, change.epoch, change.since));
        store(txn, key, row);
        return {};
      },
      step_);
}

/// Raises the epoch on all listed shards. All writes under this epoch come after that.
Task<Result<void>> OperationLedgers::raise_listed(const Operation& operation, Row home, std::uint64_t epoch,
                                                  std::uint64_t since) const {
  if (!home.behind(epoch)) co_return Result<void>{};
  CO_TRY(
      co_await change_listed(home.shards, {LedgerChange::What::kRaise, operation.account, operation.id, epoch, since}));
  // Shards that were listed meanwhile had this epoch taken at home before.
  CO_TRY(co_await change_home(operation, [&](Row& changed) -> Result<void> {
    changed.raised = std::max(changed.raised, epoch);
    return {};
  }));
  co_return Result<void>{};
}

Result<OperationLedger> OperationLedgers::sum_up(const Operation& operation, Row home) const {
  for (const auto shard : home.shards) {
    if (shard >= engines_.size()) return corrupt_record("ledger of shards");
    const auto row = TRY(find(*engines_[shard]->snapshot(), operation.key)).value_or(Row{});
    for (const auto& [name, amount] : row.ledger.counters) {
      TRY(add_to_counter(home.ledger, name, amount));
    }
    if (row.ledger.decision) home.ledger.decision = row.ledger.decision;
    std::ranges::copy(row.ledger.steps, std::back_inserter(home.ledger.steps));
  }
  return std::move(home.ledger);
}

Task<Result<OperationLedger>> OperationLedgers::open_operation(std::string account, std::string operation_id,
                                                               std::uint64_t epoch, std::uint64_t since) const {
  CO_TRY(check_operation_id(operation_id));
  const auto opened = operation(account, operation_id);
  auto home = CO_TRY(co_await change_home(opened, [&](Row& changed) {
    forget_earlier_text(changed.ledger, since);
    return changed.ledger.closed ? Result<void>{} : pass_fence(changed.ledger, epoch);
  }));
  if (!home.ledger.closed) CO_TRY(co_await raise_listed(opened, home, epoch, since));
  co_return sum_up(opened, std::move(home));
}

Task<Result<OperationLedger>> OperationLedgers::close_operation(std::string account, std::string operation_id,
                                                                std::uint64_t epoch, std::uint64_t since) const {
  CO_TRY(check_operation_id(operation_id));
  const auto closing = operation(account, operation_id);
  std::set<std::uint64_t> closed;
  for (;;) {
    std::vector<std::uint64_t> open;
    auto home = CO_TRY(co_await change_home(closing, [&](Row& changed) -> Result<void> {
      open.clear();
      std::ranges::copy_if(changed.shards, std::back_inserter(open),
                           [&](auto shard) { return !closed.contains(shard); });
      if (open.empty()) return close(changed.ledger, epoch, since);
      forget_earlier_text(changed.ledger, since);
      const bool again = changed.ledger.closed && changed.ledger.epoch == epoch;
      return again ? Result<void>() : pass_fence(changed.ledger, epoch);
    }));
    if (open.empty()) co_return sum_up(closing, std::move(home));
    CO_TRY(co_await change_listed(open, {LedgerChange::What::kClose, account, operation_id, epoch, since}));
    closed.insert(open.begin(), open.end());
  }
}

Task<Result<OperationLedger>> OperationLedgers::count(std::string account, Fence fence, std::uint64_t amount) const {
  if (fence.count_applied_as.empty()) co_return fail(ErrorCode::kInvalidInput, "Name the counter.");
  CO_TRY(check_operation_id(fence.operation_id));
  const auto counted = operation(account, fence.operation_id);
  auto home = CO_TRY(co_await change_home(counted, [&](Row& changed) -> Result<void> {
    forget_earlier_text(changed.ledger, fence.since);
    TRY(pass_fence(changed.ledger, fence.epoch));
    return add_to_counter(changed.ledger, fence.count_applied_as, amount);
  }));
  co_return sum_up(counted, std::move(home));
}

Task<Result<OperationLedger>> OperationLedgers::read_operation(std::string account, std::string operation_id) const {
  CO_TRY(check_operation_id(operation_id));
  const auto read = operation(account, operation_id);
  co_return sum_up(read, CO_TRY(find(*engines_[read.home]->snapshot(), read.key)).value_or(Row{}));
}

/// The home is forgotten last: as long as it exists, it says where the others are.
Task<Result<void>> OperationLedgers::forget_operation(std::string account, std::string operation_id) const {
  CO_TRY(check_operation_id(operation_id));
  const auto forgotten = operation(account, operation_id);
  std::vector<std::uint64_t> others;
  for (bool others_gone = false;; others_gone = true) {
    CO_TRY(co_await engines_[forgotten.home]->transact([&](kv::Transaction& txn) -> Result<void> {
      others.clear();
      auto home = TRY(find(txn, forgotten.key)).value_or(Row{});
      if (!home.ledger.closed) return {};
      if (!others_gone) others = std::move(home.shards);
      if (others.empty()) txn.erase(forgotten.key);
      return {};
    }));
    if (others.empty()) co_return Result<void>{};
    CO_TRY(co_await change_listed(others, {LedgerChange::What::kForget, account, operation_id}));
  }
}

namespace {

/// Tells whether the home of the operation whose ledger on this shard is `key` lists the shard.
Result<bool> is_listed(const std::vector<kv::Engine*>& shards, std::size_t shard, const std::string& key) {
  for (const auto* other : shards) {
    const auto bytes = other == shards[shard] ? std::nullopt : TRY(other->get(key));
    if (!bytes || !is_divided(*bytes)) continue;
    const auto row = TRY(kDividedRow.decode(*bytes));
    if (std::ranges::find(row.shards, shard) != row.shards.end()) return true;
  }
  return false;
}

}  // namespace

Task<Result<std::size_t>> drop_faded_ledgers(std::vector<kv::Engine*> shards, std::size_t shard, kv::FadingRows fading,
                                             Duration retention, Time now) {
  const auto still_needed = [&](const std::string& key, std::string_view value) -> Result<bool> {
    const auto ledger = TRY(ledger_in(value));
    if (ledger.has_steps() && !ledger.closed) return true;
    if (!is_divided(value)) return false;
    const auto row = TRY(kDividedRow.decode(value));
    if (row.shards.empty()) return is_listed(shards, shard, key);
    for (const auto listed : row.shards) {
      if (listed >= shards.size()) return corrupt_record("ledger of shards");
      if (TRY(changed_lately(*shards[listed]->snapshot(), fading, key, retention, now))) return true;
    }
    return false;
  };
  co_return co_await drop_faded(*shards[shard], fading, retention, now, still_needed);
}

Result<OperationLedger> ledger_in(std::string_view row) {
  return decode_ledger(is_divided(row) ? TRY(kDividedRow.decode(row)).ledger : row);
}

}  // namespace tidemark::shards
