#include "tests/simulation/transfer_oracle.h"

#include "common/kv/key_codec.h"
#include "common/shards/operation_ledgers.h"
#include "tests/simulation/table_oracle.h"
#include "tests/support/stored_entities.h"

namespace tidemark::simulation {
namespace {

std::string operation_in_key(std::string_view ledger_key) {
  ledger_key.remove_prefix(1);
  kv::take_text(ledger_key);  // the account
  return kv::take_text(ledger_key).value_or(std::string());
}

}  // namespace

void TransferOracle::violated(std::string text) { scheduler_.trace().violation(scheduler_.now(), std::move(text)); }

void TransferOracle::committed(const Committed& committed) {
  std::string operation;
  for (const auto& change : committed.noted.changes) {
    if (change.key.starts_with('t') && change.value) {
      if (auto table = table_store::kTableRecord.decode(*change.value)) tables_[table->generation] = table->name;
    }
    if (!change.key.starts_with('o') || !change.value) continue;
    operation = operation_in_key(change.key);
    const auto ledger = shards::ledger_in(*change.value);
    if (ledger && ledger->decision) (ledger->decision->withdrawn ? withdrawn_ : decided_).insert(operation);
  }
  for (const auto& change : committed.noted.changes) {
    if (!change.key.starts_with('e')) continue;
    const auto& table = tables_[generation_in(change.key)];
    if (table != kBankTable && table != kAuditTable) continue;
    entity_changed(change, operation.empty());
    if (operation.empty()) continue;
    if (!decided_.contains(operation)) violated("T3: a step of " + operation + " took effect before its decision");
    if (withdrawn_.contains(operation)) violated("T3: a step of " + operation + " took effect, which was withdrawn");
  }
}

void TransferOracle::entity_changed(const RowChange& change, bool by_people) {
  const auto parts = table_store::parse_entity_key(change.key);
  table_store::Entity entity;
  if (!parts || !change.value || !table_store::decode_entity(*change.value, entity)) {
    return violated("an entity of the transfers cannot be read, or is gone");
  }
  if (tables_[generation_in(change.key)] == kAuditTable) {
    ++audit_[std::string(parts->row_key)];
    return;
  }
  const auto* cents = entity.find("Cents");
  const auto* balance = cents != nullptr ? std::get_if<std::int64_t>(cents) : nullptr;
  if (balance == nullptr) return violated("a balance is gone");
  const auto account = std::string(parts->partition_key) + "/" + std::string(parts->row_key);
  if (by_people) begun_with_ += *balance - balances_[account];
  balances_[account] = *balance;
  if (*balance < 0) violated("T2: the balance of " + account + " is " + std::to_string(*balance));
}

void TransferOracle::check_quiet(const std::map<std::string, jobs::JobRecord>& jobs, std::size_t mails) {
  std::int64_t sum = 0;
  for (const auto& [account, balance] : balances_) sum += balance;
  if (sum != begun_with_) {
    violated("T2: the accounts have " + std::to_string(sum) + ", and had " + std::to_string(begun_with_));
  }
  for (const auto& [id, job] : jobs) {
    if (job.kind != "transaction") continue;
    const auto told = audit_.contains(id) ? audit_.at(id) : 0;
    const bool succeeded = job.state == jobs::JobState::kSucceeded;
    if (succeeded) ++succeeded_;
    if (told != (succeeded ? 1 : 0)) {
      violated("T1: transaction " + id + " is " + std::string(jobs::state_name(job.state)) + " and was noted " +
               std::to_string(told) + " times");
    }
    if (job.state == jobs::JobState::kPoisoned) violated("T1: transaction " + id + " is poison: " + job.error);
  }
  if (mails != succeeded_) {
    violated("T1: " + std::to_string(succeeded_) + " transactions succeeded, and " + std::to_string(mails) +
             " messages tell of it");
  }
}

}  // namespace tidemark::simulation
