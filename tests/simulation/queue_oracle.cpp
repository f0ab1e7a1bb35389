#include "tests/simulation/queue_oracle.h"

#include "common/kv/key_codec.h"
#include "common/rpc/wire.h"
#include "jobs/store/job_record.h"
#include "queue_service/client/queue_calls.h"
#include "queue_service/model/queue_parts.h"
#include "queue_service/storage/carriers.h"
#include "queue_service/storage/queue_keys.h"
#include "tests/simulation/table_oracle.h"

namespace tidemark::simulation {

using queue_service::MessageRecord;

namespace {

/// Adds the leases that a call of this kind carries.
template <class Call>
void collect_leases(const Cause& cause, std::vector<queue_service::LeaseKey>& out) {
  if (cause.method != Call::kMethod) return;
  const auto call = wire::decode<Call>(cause.payload);
  if (!call) return;
  if constexpr (requires { call->leases; }) {
    out = call->leases;
  } else {
    out.push_back(call->lease);
  }
}

std::vector<queue_service::LeaseKey> leases_of(const Cause& cause) {
  std::vector<queue_service::LeaseKey> out;
  collect_leases<queue_service::calls::Renew>(cause, out);
  collect_leases<queue_service::calls::Complete>(cause, out);
  collect_leases<queue_service::calls::CompleteAll>(cause, out);
  collect_leases<queue_service::calls::Finish>(cause, out);
  collect_leases<queue_service::calls::Release>(cause, out);
  collect_leases<queue_service::calls::Move>(cause, out);
  return out;
}

// The rows of ready, timed and waiting messages.
bool is_message_row(const std::string& key) {
  return key.size() > 10 && key[0] == 'm' && (key[9] == 'r' || key[9] == 't' || key[9] == 'w');
}
bool is_departure(const std::string& key) { return key.starts_with('x'); }
bool is_arrival(const std::string& key) { return key.size() == 9 && key[0] == 'c'; }
bool is_figures_row(const std::string& key) { return key.size() == 10 && key[0] == 'm' && key[9] == 'c'; }

/// Returns the number in a key: the generation for messages and figures, the other shard for messages on their way.
std::uint64_t number_in(std::string_view key) {
  key.remove_prefix(1);
  return kv::take_u64(key).value_or(0);
}

}  // namespace

void QueueOracle::violated(std::string text) { scheduler_.trace().violation(scheduler_.now(), std::move(text)); }

void QueueOracle::check_lease(const Cause& cause, const std::set<std::string>& touched) {
  // A call with many leases leaves messages alone that are not held any more.
  const bool many = cause.method == queue_service::calls::CompleteAll::kMethod;
  for (const auto& lease : leases_of(cause)) {
    const auto& id = lease.message_id;
    const auto known = messages_.find(id);
    const bool there = known != messages_.end() && !known->second.places.empty();
    if (!there && !many) return violated("Q1: a call changed no known message");
    const bool held = there && known->second.record.message.epoch == lease.epoch && known->second.record.leased;
    if (held) continue;
    if (!many || touched.contains(id)) {
      violated("Q3: " + cause.method + " of an overtaken delivery changed message " + id);
    }
  }
}

void QueueOracle::put_row(Row row, Generation generation, MessageRecord record, std::set<std::string>& touched) {
  const auto& id = record.message.id;
  touched.insert(id);
  auto& known = messages_[id];
  if (record.message.epoch < known.record.message.epoch) violated("Q3: the epoch of message " + id + " went down");
  known.places.insert(std::move(row));
  if (known.generation != generation && is_of(std::string(jobs::kPoisonQueue), generation)) {
    if (++known.times_poison > 1) violated("message " + id + " became poison twice");
  }
  if (parts_.contains(generation)) in_parts_.insert(id);
  known.generation = generation;
  known.record = std::move(record);
}

/// Returns the messages that were in these rows before the commit.
std::set<std::string> QueueOracle::messages_in(std::size_t shard, const std::vector<RowChange>& changes) const {
  std::set<std::string> ids;
  for (const auto& change : changes) {
    const auto row = by_row_.find({shard, change.key});
    if (row != by_row_.end()) ids.insert(row->second);
  }
  return ids;
}

void QueueOracle::message_row(std::size_t shard, const RowChange& change, std::set<std::string>& touched) {
  Row key{shard, change.key};
  const auto row = by_row_.find(key);
  if (row != by_row_.end() && !change.value) {
    touched.insert(row->second);
    messages_[row->second].places.erase(key);
    by_row_.erase(row);
  }
  if (!change.value) return;
  auto record = queue_service::decode_message(*change.value);
  if (!record) return violated("a message cannot be read");
  by_row_[key] = record->message.id;
  put_row(std::move(key), {shard, number_in(change.key)}, std::move(*record), touched);
}

void QueueOracle::departed(std::size_t shard, const RowChange& change, std::set<std::string>& touched) {
  auto& way = ways_[{shard, number_in(change.key)}];
  const auto number = queue_service::queue_keys::departure_number(change.key).value_or(0);
  if (!change.value) {
    if (number > way.arrived) violated("Q1: a message that left a shard was forgotten before it arrived");
    return;
  }
  const auto departure = queue_service::decode_departure(*change.value);
  if (!departure) return violated("a message on its way cannot be read");
  auto& id = way.under_way[number];
  on_departure();
  if (departure->put) return;  // only the shard where it arrives knows whether the message is new
  auto record = queue_service::decode_message(departure->moved);
  if (!record) return violated("a message on its way cannot be read");
  id = record->message.id;
  put_row({shard, change.key}, {}, std::move(*record), touched);
}

void QueueOracle::arrived(std::size_t shard, const RowChange& change, std::set<std::string>& touched) {
  const auto from = number_in(change.key);
  auto& way = ways_[{from, shard}];
  std::string_view value = *change.value;
  const auto number = kv::take_u64(value).value_or(0);
  if (number < way.arrived) violated("Q1: the number of what arrived went down");
  way.arrived = number;
  while (!way.under_way.empty() && way.under_way.begin()->first <= number) {
    const auto& [departure, id] = *way.under_way.begin();
    if (!id.empty()) {
      touched.insert(id);
      messages_[id].places.erase({from, queue_service::queue_keys::departed(shard, departure)});
    }
    way.under_way.erase(way.under_way.begin());
    ++carried_;
  }
}

void QueueOracle::begun(const Cause& cause) {
  if (cause.method != queue_service::calls::Withdraw::kMethod) return;
  if (const auto call = wire::decode<queue_service::calls::Withdraw>(cause.payload))
    withdrawn_.insert(call->message.id);
}

void QueueOracle::committed(std::size_t shard, const Committed& committed) {
  const auto& changes = committed.noted.changes;
  const auto& cause = committed.cause;
  const bool changes_messages =
      std::any_of(changes.begin(), changes.end(), [](const RowChange& change) { return is_message_row(change.key); });
  if (changes_messages) check_lease(cause, messages_in(shard, changes));
  std::set<std::string> touched;
  for (const auto& change : changes) {
    if (is_message_row(change.key)) {
      message_row(shard, change, touched);
    } else if (is_departure(change.key)) {
      departed(shard, change, touched);
    } else if (is_arrival(change.key) && change.value) {
      arrived(shard, change, touched);
    } else if (change.key.starts_with('q') && change.value) {
      auto queue = queue_service::kQueueRecord.decode(*change.value);
      auto name = queue_service::queue_keys::queue_name(change.key, kAccount);
      if (!queue || !name) continue;
      queues_[{shard, queue->generation}] = queue_service::whole_queue(*name);
      if (queue_service::is_part(*name)) parts_.insert({shard, queue->generation});
    } else if (is_figures_row(change.key) && change.value) {
      auto figures = queue_service::kFiguresRecord.decode(*change.value);
      if (figures) counts_[{shard, number_in(change.key)}] = *figures;
    }
  }
  if (touched.empty()) return;
  check_touched(cause, touched);
  check_figures();
}

void QueueOracle::check_touched(const Cause& cause, const std::set<std::string>& touched) {
  const bool ends = cause.method == "queue.complete" || cause.method == "queue.complete_all" ||
                    cause.method == "queue.finish" || cause.method == "queue.remove" ||
                    cause.method == "queue.withdraw" || cause.method == "queue.withdraw_there";
  for (const auto& id : touched) {
    const auto places = messages_[id].places.size();
    if (places > 1) violated("Q2: message " + id + " is at " + std::to_string(places) + " places");
    // A withdrawal that first asks another process commits later, when the known cause is that of another call.
    if (places == 0 && !ends && !withdrawn_.contains(id))
      violated("Q1: message " + id + " was lost by " + cause.method);
  }
}

void QueueOracle::check_figures() {
  std::map<Generation, queue_service::FiguresRecord> found;
  for (const auto& [row, id] : by_row_) {
    const auto& [shard, key] = row;
    auto& sets = found[{shard, number_in(key)}];
    const bool leased = messages_[id].record.leased;
    ++(key[9] == 'r' ? sets.ready : key[9] == 'w' ? sets.waiting : leased ? sets.leased : sets.delayed);
  }
  for (const auto& [generation, counted] : counts_) {
    const auto& sets = found[generation];
    const auto differs = [&](std::string_view what, std::uint64_t says, std::uint64_t is) {
      if (says == is) return;
      violated("Q6: a queue counts " + std::to_string(says) + " " + std::string(what) + " messages, not " +
               std::to_string(is));
    };
    differs("ready", counted.ready, sets.ready);
    differs("delayed", counted.delayed, sets.delayed);
    differs("leased", counted.leased, sets.leased);
    differs("waiting", counted.waiting, sets.waiting);
  }
}

std::set<std::string> QueueOracle::ids(const std::string& queue) const {
  std::set<std::string> out;
  for (const auto& [row, id] : by_row_) {
    if (is_of(queue, {row.first, number_in(row.second)})) out.insert(id);
  }
  return out;
}

bool QueueOracle::is_of(const std::string& queue, const Generation& generation) const {
  const auto found = queues_.find(generation);
  return found != queues_.end() && found->second == queue;
}

std::uint64_t QueueOracle::messages(const std::string& queue) const { return ids(queue).size(); }

}  // namespace tidemark::simulation
