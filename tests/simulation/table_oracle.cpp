#include "tests/simulation/table_oracle.h"

#include <nlohmann/json.hpp>

#include "common/kv/key_codec.h"
#include "common/rpc/wire.h"
#include "common/shards/operation_ledgers.h"
#include "table_store/client/table_calls.h"
#include "table_store/model/filter.h"
#include "tests/simulation/own_workers.h"
#include "tests/support/stored_entities.h"

namespace tidemark::simulation {

using table_store::Entity;
using table_store::OperationLedger;

namespace {

std::string content_of(const Entity& entity) { return table_store::encode_entity(0, std::nullopt, entity.properties); }

std::string operation_in(std::string_view ledger_key) {
  ledger_key.remove_prefix(1);
  kv::take_text(ledger_key);  // the account
  return kv::take_text(ledger_key).value_or(std::string());
}

/// Returns the fence of a call that carries one.
template <class Call>
std::optional<table_store::Fence> fence_in(const Cause& cause) {
  auto call = wire::decode<Call>(cause.payload);
  if (!call) return std::nullopt;
  if constexpr (requires { call->operation_id; }) {
    return table_store::Fence{std::move(call->operation_id), call->epoch, {}};
  } else {
    return std::move(call->fence);
  }
}

/// Returns the fence of the move, among those of a call, that changed these rows. Each move is its own transaction.
std::optional<table_store::Fence> fence_of_move(const Cause& cause, const std::vector<RowChange>& changes) {
  auto call = wire::decode<table_store::calls::MoveAll>(cause.payload);
  if (!call) return std::nullopt;
  for (auto& move : call->moves) {
    const auto key = table_store::operation_key(kAccount, move.fence.operation_id);
    const bool changed =
        std::any_of(changes.begin(), changes.end(), [&](const RowChange& change) { return change.key == key; });
    if (changed) return std::move(move.fence);
  }
  return std::nullopt;
}

/// Returns the fence of a call that works on an operation.
std::optional<table_store::Fence> fence_of(const Cause& cause, const std::vector<RowChange>& changes) {
  if (cause.method == table_store::calls::MoveAll::kMethod) return fence_of_move(cause, changes);
  if (cause.method == table_store::calls::TakeSteps::kMethod) {
    auto call = wire::decode<table_store::calls::TakeSteps>(cause.payload);
    return call ? std::optional(std::move(call->request.fence)) : std::nullopt;
  }
  if (cause.method == table_store::calls::Mutate::kMethod) return fence_in<table_store::calls::Mutate>(cause);
  if (cause.method == table_store::calls::MutateAll::kMethod) return fence_in<table_store::calls::MutateAll>(cause);
  if (cause.method == table_store::calls::Follow::kMethod) return fence_in<table_store::calls::Follow>(cause);
  if (cause.method == table_store::calls::Count::kMethod) return fence_in<table_store::calls::Count>(cause);
  if (cause.method == table_store::calls::OpenOperation::kMethod)
    return fence_in<table_store::calls::OpenOperation>(cause);
  if (cause.method == table_store::calls::CloseOperation::kMethod)
    return fence_in<table_store::calls::CloseOperation>(cause);
  return std::nullopt;
}

}  // namespace

void TableOracle::violated(std::string text) { scheduler_.trace().violation(scheduler_.now(), std::move(text)); }

void TableOracle::committed(const Committed& committed) {
  const auto& [noted, cause] = committed;
  Context context;
  context.by_user = cause.caller == user_;
  if (const auto fence = fence_of(cause, noted.changes)) {
    context.operation = fence->operation_id;
    context.epoch = fence->epoch;
    context.counts = !fence->count_applied_as.empty();
  } else if (!noted.ledger.empty()) {
    // One of several calls in a message, which are made after the message was taken: its cause may be another call.
    context.operation = operation_in(noted.ledger);
    context.by_user = false;
  }
  look_at(noted.changes, context);
}

void TableOracle::committed_on(std::size_t shard, const Committed& committed) {
  const auto& noted = committed.noted;
  Context context;
  context.shard = shard;
  context.by_user = noted.ledger.empty();
  if (!noted.ledger.empty()) context.operation = operation_in(noted.ledger);
  context.counts = counts_more(noted.changes, context);
  look_at(noted.changes, context);
}

bool TableOracle::counts_more(const std::vector<RowChange>& changes, const Context& context) const {
  const auto known = operations_.find({context.operation, context.shard});
  for (const auto& change : changes) {
    if (!change.key.starts_with('o') || !change.value) continue;
    const auto ledger = shards::ledger_in(*change.value);
    const auto before = known == operations_.end() ? 0 : known->second.ledger.counter("done");
    if (ledger && ledger->counter("done") > before) return true;
  }
  return false;
}

void TableOracle::look_at(const std::vector<RowChange>& changes, Context& context) {
  for (const auto& change : changes) {
    if (change.key.starts_with('t') && change.value) {
      auto table = table_store::kTableRecord.decode(*change.value);
      if (table) tables_[table->generation] = table->name;
    }
  }
  // The jobs' records come first: this transaction may be the first to tell the kind of the job that changes the rest.
  for (const bool records : {true, false}) {
    for (const auto& change : changes) {
      if (!change.key.starts_with('e')) continue;
      if ((tables_[generation_in(change.key)] == jobs::kJobTable) == records) entity_changed(change, context);
    }
  }
  for (const auto& change : changes) {
    if (!change.key.starts_with('o')) continue;
    if (context.operation.empty()) return violated("a ledger changed without an operation");
    ledger_changed(change, context);
  }
}

void TableOracle::entity_changed(const RowChange& change, Context& context) {
  auto parts = table_store::parse_entity_key(change.key);
  if (!parts) return violated("an entity's key cannot be read");
  const Key key{std::move(parts->partition_key), std::move(parts->row_key)};
  std::optional<Entity> now;
  if (change.value) {
    now.emplace();
    if (!table_store::decode_entity(*change.value, *now)) return violated("an entity cannot be read");
    now->partition_key = key.first;
    now->row_key = key.second;
  }
  const auto& table = tables_[generation_in(change.key)];
  if (!context.operation.empty() && !context.by_user) {
    const auto& ledger = operations_[{context.operation, context.shard}].ledger;
    if (ledger.closed) violated("A4: " + shown(key) + " written for a closed operation");
    if (context.epoch && *context.epoch < ledger.epoch)
      violated("A4: " + shown(key) + " written by a delivery that was overtaken");
  }
  if (table == kSourceTable) source_changed(key, now, context);
  if (table == kDestinationTable) destination_changed(key, now, context);
  if (table == kCopiesTable) denormalised_changed(key, now, context);
  if (table == jobs::kJobTable && key.first == jobs::kJobPartition) record_changed(key, now);
}

void TableOracle::source_changed(const Key& key, const std::optional<Entity>& now, Context& context) {
  auto& state = source_[key];
  if (now) {
    if (!context.by_user) check_restored(key, *now);
    // A restored entity is a new one: earlier archived copies are not copies of it.
    if (!state.version || !context.by_user) {
      ++state.births;
      state.moved_to.reset();
    }
    state.version = now->version;
    state.restored_from = now->source_version;
    state.bytes = content_of(*now);
    state.entity = *now;
    state.history[now->version] = state.bytes;
    state.birth_of[now->version] = state.births;
    return;
  }
  if (!state.version) return violated("the source lost " + shown(key) + ", which it did not have");
  if (!context.by_user) {
    ++context.moved;
    ++moves_;
    check_removed(key, state, context);
  }
  state.version.reset();
}

void TableOracle::check_removed(const Key& key, const SourceState& state, const Context& context) {
  const auto job = jobs_.find(context.operation);
  if (job != jobs_.end() && job->second.kind == "delete") {
    const auto spec = nlohmann::json::parse(job->second.spec);
    const auto filter = table_store::Filter::parse(spec.value("filter", std::string()));
    const bool named =
        spec.value("partitionKey", key.first) == key.first && spec.value("rowKey", key.second) == key.second;
    if (!filter || !filter->matches(state.entity) || !named) {
      violated("D1: " + shown(key) + " was deleted and had not been selected as it was");
    }
    return;
  }
  const auto copy = copies_.find(key);
  if (copy == copies_.end()) {
    violated("A1: " + shown(key) + " removed from the source without a copy");
  } else if (copy->second.source_version < *state.version) {
    violated("A3: a version of " + shown(key) + " newer than the archived one was removed");
  }
  if (copy != copies_.end()) source_[key].moved_to = copy->second.source_version;
}

void TableOracle::check_taken_back(const Key& key, const Context& context) {
  const auto& copy = copies_.at(key);
  if (copy.operation != context.operation) {
    violated("A5: the copy of " + shown(key) + " was taken back by a job that had not written it");
  }
  if (source_[key].moved_to == copy.source_version) {
    violated("A5: the copy of " + shown(key) + " was taken back after the entity had been removed because of it");
  }
}

void TableOracle::check_restored(const Key& key, const Entity& now) {
  const auto& state = source_[key];
  const auto copy = copies_.find(key);
  if (!now.source_version) return violated("a worker wrote " + shown(key) + " into the source");
  const auto original = state.history.find(*now.source_version);
  if (original == state.history.end() || original->second != content_of(now)) {
    violated("A2: " + shown(key) + " was restored as something that it never was");
  }
  // If the copy is gone by now, the same version was restored from it before.
  if (copy != copies_.end() && copy->second.source_version < *now.source_version) {
    violated("A2: " + shown(key) + " was restored from a copy that is not there");
  }
  if (state.version && state.restored_from.value_or(*state.version) > *now.source_version) {
    violated("A3: an archived version of " + shown(key) + " replaced a newer one");
  }
}

void TableOracle::denormalised_changed(const Key& key, const std::optional<Entity>& now, Context& context) {
  if (!now) {
    denormalised_.erase(key);
    ++context.moved;
    return;
  }
  if (!now->source_version) return violated("C1: the denormalised copy of " + shown(key) + " names no version");
  const auto& history = source_[key].history;
  const auto original = history.find(*now->source_version);
  if (original == history.end() || original->second != content_of(*now)) {
    violated("C1: the denormalised copy of " + shown(key) + " differs from the version it names");
  }
  auto& known = denormalised_[key];
  if (known > *now->source_version) violated("C2: an older version replaced a newer copy of " + shown(key));
  known = *now->source_version;
}

void TableOracle::destination_changed(const Key& key, const std::optional<Entity>& now, Context& context) {
  if (!now) {
    const auto& state = source_[key];
    const auto copy = copies_.find(key);
    if (copy == copies_.end()) return violated("the archive lost " + shown(key) + ", which it did not have");
    // A removal that is not counted moves nothing.
    if (!context.operation.empty() && !context.counts) {
      check_taken_back(key, context);
      copies_.erase(copy);
      return;
    }
    // The entity was restored since the copy was made, and may have been deleted by a user after that. A request that
    // arrives twice may make a copy of the version that was restored before.
    const bool has_it = state.version && state.restored_from == copy->second.source_version;
    if (state.births <= copy->second.births && !has_it)
      violated("A1: the archived copy of " + shown(key) + " was removed, and the source does not have it");
    copies_.erase(copy);
    ++context.moved;
    ++moves_;
    return;
  }
  if (!now->source_version) return violated("A2: the copy of " + shown(key) + " names no version");
  const auto& history = source_[key].history;
  const auto original = history.find(*now->source_version);
  if (original == history.end()) {
    violated("A2: the copy of " + shown(key) + " names a version that never was");
  } else if (original->second != content_of(*now)) {
    violated("A2: the copy of " + shown(key) + " differs from the version it names");
  }
  const auto before = copies_.find(key);
  if (before != copies_.end() && before->second.source_version > *now->source_version) {
    violated("A2: an older copy replaced a newer one of " + shown(key));
  }
  copies_[key] = {*now->source_version, context.operation, source_[key].births};
}

void TableOracle::record_changed(const Key& key, const std::optional<Entity>& now) {
  if (!now) return violated("the record of job " + key.second + " was removed");
  auto record = jobs::record_from_entity(*now);
  if (!record) return violated("the record of job " + key.second + " cannot be read");
  const auto before = jobs_.find(record->id);
  if (before != jobs_.end()) {
    if (jobs::is_terminal(before->second.state) && record->state != before->second.state) {
      violated("job " + record->id + " ended " + std::string(jobs::state_name(before->second.state)) + " and is now " +
               std::string(jobs::state_name(record->state)));
    }
    if (record->epoch < before->second.epoch)
      violated("the record of job " + record->id + " went back to an old epoch");
    if (!jobs::is_terminal(record->state) && record->done < before->second.done)
      violated("B1: job " + record->id + " did " + std::to_string(before->second.done) + " and tells of " +
               std::to_string(record->done));
    if (record->message_id != before->second.message_id) violated("job " + record->id + " changed its message");
  }
  jobs_[record->id] = std::move(*record);
}

void TableOracle::ledger_changed(const RowChange& change, const Context& context) {
  const auto& operation = context.operation;
  if (!change.value) return violated("the ledger of " + operation + " was removed");
  auto ledger = shards::ledger_in(*change.value);
  if (!ledger) return violated("the ledger of " + operation + " cannot be read");
  auto& known = operations_[{operation, context.shard}];
  const bool same = known.ledger.epoch == ledger->epoch && known.ledger.counters == ledger->counters;
  // An operation is closed on the other shards before its home; a delivery that takes over in between opens it again.
  const auto home = placement_.of({kAccount, operation});
  const bool for_good = context.shard == home || operations_[{operation, home}].ledger.closed;
  const bool taken_over = !for_good && ledger->epoch > known.ledger.epoch;
  if (known.ledger.closed && (!ledger->closed || !same) && !taken_over) {
    violated("A4: the closed ledger of " + operation + " changed");
  }
  if (ledger->epoch < known.ledger.epoch) violated("the ledger of " + operation + " went back to an old epoch");
  known.moved += context.moved;
  if (ledger->counter("done") != known.moved) violated("the ledger of " + operation + " does not count what it moved");
  known.ledger = std::move(*ledger);
}

void TableOracle::check_job(const jobs::JobRecord& job) {
  if (!jobs::is_terminal(job.state)) {
    return violated("job " + job.id + " is still " + std::string(jobs::state_name(job.state)));
  }
  if (job.state != jobs::JobState::kSucceeded) return;
  if (job.kind == "callback") return;     // it has no ledger: callback_oracle.h checks its work
  if (job.kind == "transaction") return;  // transfer_oracle.h checks its work
  if (job.kind == kShipKind) return;      // ship_oracle.h checks its work
  std::uint64_t moved = 0;
  bool closed = false;
  for (auto each = operations_.lower_bound({job.id, 0}); each != operations_.end() && each->first.first == job.id;
       ++each) {
    moved += each->second.moved;
    closed = each->second.ledger.closed;
    if (!closed) break;
  }
  if (!closed) violated("job " + job.id + " succeeded, its operation is open");
  if (job.kind != "copy" && job.kind != "index" && job.done != moved) {
    violated("job " + job.id + " says " + std::to_string(job.done) + " done, it moved " + std::to_string(moved));
  }
}

void TableOracle::check_quiet() {
  for (const auto& [id, job] : jobs_) check_job(job);
  for (const auto& [key, copy] : copies_) {
    const auto& state = source_[key];
    if (!state.version) continue;
    // The entity is in both places. That is right only if people created it anew after the move, or if the job was
    // given up half way.
    if (*state.version == copy.source_version) {
      const auto job = jobs_.find(copy.operation);
      const bool given_up = job != jobs_.end() && job->second.state != jobs::JobState::kSucceeded;
      if (!given_up) violated("A1: " + shown(key) + " is in the source and in the destination");
      continue;
    }
    if (*state.version < copy.source_version) violated("A3: the source of " + shown(key) + " is older than its copy");
    const auto job = jobs_.find(copy.operation);
    const bool finished = job != jobs_.end() && job->second.state == jobs::JobState::kSucceeded;
    if (finished && state.birth_of.at(copy.source_version) == state.births) {
      violated("A1: " + shown(key) + " was copied, changed, and left behind in the source");
    }
  }
}

}  // namespace tidemark::simulation
