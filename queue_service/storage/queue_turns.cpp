// Turns. Messages that take turns have a key, and the part of the key before the first '/' names their tenant. At most
// one message of a tenant, its head, stands among the ready ones; the others wait in the lists of their keys, and the
// keys with waiting messages have turns within their tenant. When a head is taken, the next message of its tenant, from
// the key whose turn it is, goes to the end of the ready ones, and the key to the end of the turns. So a tenant with
// many messages, or many keys, delays those of others no more than one with few.
//
// The limits of keys are those of the call that takes. A key at its limit of running messages loses its turn and gets
// one again when one of them ends. One that must wait for its rate gives its next message to the timed set instead of
// keeping its turn. A delayed message takes part once it is due and a walk meets it. These hold between transactions:
//   a tenant has a row and a head, or it has neither, and then none of its keys has a turn;
//   a key with waiting messages and without a turn has a message that is running or in the timed set.
#include "queue_service/storage/queue_rows.h"

namespace tidemark::queue_service {
namespace {

// Keys at their limit that one change passes over; after that, it takes the next message of any key, and the next take
// looks again.
constexpr std::size_t kMaxKeysPassed = 256;

bool is_limited(const std::string& key, std::uint32_t limit) { return limit > 0 && !key.empty(); }

bool is_full(const std::string& key, const TurnKeyRecord& state, const KeyLimits& limits) {
  return is_limited(key, limits.running) && state.running >= limits.running;
}

bool must_wait(const std::string& key, const TurnKeyRecord& state, const KeyLimits& limits, Time now) {
  return is_limited(key, limits.per_second) && state.next > now;
}

}  // namespace

Result<TurnKeyRecord> QueueRows::read_turn_key(const std::string& key) const {
  const auto bytes = TRY(txn_->get(queue_keys::turn_key(generation_, key)));
  return bytes ? kTurnKeyRecord.decode(*bytes) : TurnKeyRecord{};
}

void QueueRows::save_turn_key(const std::string& key, const TurnKeyRecord& record) {
  const bool idle = record.waiting == 0 && record.running == 0 && record.next <= now_;
  const auto row = queue_keys::turn_key(generation_, key);
  if (idle) return txn_->erase(row);
  txn_->put(row, kTurnKeyRecord.encode(record));
}

Result<std::optional<TenantRecord>> QueueRows::read_tenant(const std::string& tenant) const {
  const auto bytes = TRY(txn_->get(queue_keys::tenant(generation_, tenant)));
  if (!bytes) return std::optional<TenantRecord>();
  return std::optional(TRY(kTenantRecord.decode(*bytes)));
}

void QueueRows::save_tenant(const std::string& tenant, const TenantRecord& record) {
  txn_->put(queue_keys::tenant(generation_, tenant), kTenantRecord.encode(record));
}

Place QueueRows::become_head(MessageRecord record, const TenantRecord& tenant) {
  save_tenant(std::string(tenant_of(record.message.group)), tenant);
  record.turn = TurnState::kHead;
  return write(record, std::nullopt);
}

Result<Place> QueueRows::wait_for_turn(MessageRecord record, TenantRecord tenant, TurnKeyRecord key, const Place& place,
                                       bool gets_turn) {
  const auto name = record.message.group;
  key.front = key.waiting == 0 ? place.sequence : std::min(key.front, place.sequence);
  ++key.waiting;
  if (gets_turn && key.turn == 0) {
    give_turn(name, key, tenant);
    save_tenant(std::string(tenant_of(name)), tenant);
  }
  save_turn_key(name, key);
  record.turn = TurnState::kNone;
  record.receipt = place;
  record.listed = true;  // the receipt does not name the message's key
  record.message.next_visible = place.visible_at;
  write_at(record, Set::kWaiting, place);
  return place;
}

Result<Place> QueueRows::join_turns(MessageRecord record, std::optional<Time> visible_at) {
  record.turn = TurnState::kNone;
  if (visible_at && *visible_at > now_) return write(record, visible_at);
  const auto tenant = TRY(read_tenant(std::string(tenant_of(record.message.group))));
  auto key = TRY(read_turn_key(record.message.group));
  if (!tenant && key.waiting == 0) return become_head(std::move(record), {});
  // A key whose messages wait without a turn is at its limit.
  const bool gets_turn = key.waiting == 0;
  const auto place = next_place(std::nullopt);
  return wait_for_turn(std::move(record), tenant.value_or(TenantRecord{}), key, place, gets_turn);
}

void QueueRows::give_turn(const std::string& key, TurnKeyRecord& state, TenantRecord& tenant) {
  state.turn = figures_.next_sequence++;
  if (tenant.keys++ == 0) tenant.front = state.turn;
  txn_->put(queue_keys::turn(generation_, tenant_of(key), state.turn), key);
}

void QueueRows::end_turn(const std::string& key, TurnKeyRecord& state, TenantRecord& tenant) {
  if (state.turn == 0) return;
  txn_->erase(queue_keys::turn(generation_, tenant_of(key), state.turn));
  if (tenant.front == state.turn) ++tenant.front;
  state.turn = 0;
  --tenant.keys;
}

Result<MessageRecord> QueueRows::take_waiting(const std::string& key, TurnKeyRecord& state) {
  FoundMessage found{Set::kWaiting, {}, false, {}};
  found.record.turns = true;
  found.record.message.group = key;
  {
    const auto cursor = txn_->scan(queue_keys::waiting_from(generation_, list_of(found.record), state.front));
    TRY(cursor->status());
    if (!cursor->valid()) return fail(ErrorCode::kCorruption, "The next message of a key is not there.");
    auto rest = cursor->key().substr(cursor->key().size() - 8);
    found.place.sequence = kv::take_u64(rest).value_or(0);
    found.record = TRY(decode_message(cursor->value()));
  }
  erase_row(found);
  --state.waiting;
  state.front = found.place.sequence + 1;
  return std::move(found.record);
}

/// Takes the next message of the tenant out of its list, and moves the turns on; nothing if no key has a turn.
Result<std::optional<MessageRecord>> QueueRows::next_in_turn(const std::string& tenant, TenantRecord& state,
                                                             const KeyLimits& limits) {
  for (std::size_t passed = 0; state.keys > 0; ++passed) {
    std::string key;
    {
      const auto cursor = txn_->scan(queue_keys::turns_from(generation_, tenant, state.front));
      TRY(cursor->status());
      if (!cursor->valid()) return fail(ErrorCode::kCorruption, "The next turn of a tenant is not there.");
      key = cursor->value();
    }
    auto its = TRY(read_turn_key(key));
    state.front = its.turn;
    const bool looks = passed < kMaxKeysPassed;
    if (looks && is_full(key, its, limits)) {
      end_turn(key, its, state);
      save_turn_key(key, its);
      continue;
    }
    auto record = TRY(take_waiting(key, its));
    const bool waits = looks && must_wait(key, its, limits, now_);
    const bool more = its.waiting > 0 && !waits;
    const bool alone = more && state.keys == 1;  // then it is its turn again
    if (!alone) end_turn(key, its, state);
    if (more && !alone) give_turn(key, its, state);
    save_turn_key(key, its);
    if (!waits) return std::optional(std::move(record));
    record.receipt.reset();
    write(record, its.next);
  }
  return std::optional<MessageRecord>();
}

/// Finds the next head of a tenant that has none.
Result<void> QueueRows::promote(const std::string& tenant, TenantRecord state, const KeyLimits& limits) {
  auto next = TRY(next_in_turn(tenant, state, limits));
  if (next) {
    become_head(std::move(*next), state);
  } else {
    txn_->erase(queue_keys::tenant(generation_, tenant));
  }
  return {};
}

Result<void> QueueRows::leave_turns(const FoundMessage& found) {
  const auto& key = found.record.message.group;
  const std::string tenant(tenant_of(key));
  if (found.set == Set::kWaiting) {
    auto state = TRY(read_turn_key(key));
    --state.waiting;
    if (auto its_tenant = TRY(read_tenant(tenant)); its_tenant && state.waiting == 0 && state.turn != 0) {
      end_turn(key, state, *its_tenant);
      save_tenant(tenant, *its_tenant);
    }
    save_turn_key(key, state);
    return {};
  }
  if (found.record.turn == TurnState::kHead) {
    return promote(tenant, TRY(read_tenant(tenant)).value_or(TenantRecord{}), {});
  }
  auto record = found.record;
  return end_run(record);
}

/// A running message ends, or is given back; its key may go on.
Result<void> QueueRows::end_run(MessageRecord& record) {
  if (record.turn != TurnState::kRunning) return {};
  record.turn = TurnState::kNone;
  const auto& key = record.message.group;
  const std::string tenant(tenant_of(key));
  auto state = TRY(read_turn_key(key));
  if (state.running > 0) --state.running;
  const bool goes_on = state.waiting > 0 && state.turn == 0;
  const auto its_tenant = goes_on ? TRY(read_tenant(tenant)) : std::nullopt;
  auto tenant_state = its_tenant.value_or(TenantRecord{});
  if (goes_on) give_turn(key, state, tenant_state);
  save_turn_key(key, state);
  if (!goes_on) return {};
  if (!its_tenant) return promote(tenant, tenant_state, {});
  save_tenant(tenant, tenant_state);
  return {};
}

/// Counts a message that is about to be given out.
Result<void> QueueRows::begin_run(MessageRecord& record, const KeyLimits& limits) {
  const auto& key = record.message.group;
  record.turn = TurnState::kNone;
  const bool counts = is_limited(key, limits.running), paced = is_limited(key, limits.per_second);
  if (!counts && !paced) return {};
  auto state = TRY(read_turn_key(key));
  if (counts) {
    record.turn = TurnState::kRunning;
    ++state.running;
  }
  if (paced) state.next = std::max(state.next, now_) + Duration(std::chrono::seconds(1)) / limits.per_second;
  save_turn_key(key, state);
  return {};
}

Result<void> QueueRows::take_turn(FoundMessage found, const TakeRequest& request, Taken& taken,
                                  std::deque<std::string>& tenants) {
  auto& record = found.record;
  const auto key = record.message.group;
  erase_row(found);
  if (record.leased) {  // its lease ran out: it was its turn before
    deliver(std::move(record), request, taken);
    return {};
  }
  if (record.turn != TurnState::kHead) {  // it was delayed
    taken.more = true;
    record.receipt.reset();
    const std::string tenant(tenant_of(key));
    const auto its_tenant = TRY(read_tenant(tenant));
    auto state = TRY(read_turn_key(key));
    if (!its_tenant && state.waiting == 0) {
      become_head(std::move(record), {});
      return {};
    }
    TRY(wait_for_turn(std::move(record), its_tenant.value_or(TenantRecord{}), state, next_place(std::nullopt), true));
    const bool between_heads = std::ranges::find(tenants, tenant) != tenants.end();
    if (!its_tenant && !between_heads) tenants.push_back(tenant);
    return {};
  }
  tenants.emplace_back(tenant_of(key));
  const auto state = TRY(read_turn_key(key));
  if (is_full(key, state, request.limits)) {
    taken.more = true;
    const auto tenant = TRY(read_tenant(tenants.back())).value_or(TenantRecord{});
    TRY(wait_for_turn(std::move(record), tenant, state, found.place, false));
    return {};
  }
  if (must_wait(key, state, request.limits, now_)) {
    taken.more = true;
    record.turn = TurnState::kNone;
    write(record, state.next);
    return {};
  }
  TRY(begin_run(record, request.limits));
  deliver(std::move(record), request, taken);
  return {};
}

Result<void> QueueRows::go_on_in_turn(const TakeRequest& request, Taken& taken, std::deque<std::string> tenants) {
  const auto most = request.max_dequeue_count.value_or(options_.max_dequeue_count);
  while (taken.messages.size() < request.count && !tenants.empty()) {
    auto tenant = std::move(tenants.front());
    tenants.pop_front();
    auto state = TRY(read_tenant(tenant)).value_or(TenantRecord{});
    auto next = TRY(next_in_turn(tenant, state, request.limits));
    if (!next) {
      txn_->erase(queue_keys::tenant(generation_, tenant));
      continue;
    }
    const auto& limits = request.limits;
    const auto& key = next->message.group;
    const auto its = limits.running > 0 || limits.per_second > 0 ? TRY(read_turn_key(key)) : TurnKeyRecord{};
    const bool comes_too_soon = is_full(key, its, limits) || must_wait(key, its, limits, now_);
    if (comes_too_soon || has_expired(next->message.expires) || is_poison(*next, most)) {
      become_head(std::move(*next), state);  // the next walk decides
      taken.more = true;
      continue;
    }
    save_tenant(tenant, state);
    TRY(begin_run(*next, request.limits));
    deliver(std::move(*next), request, taken);
    tenants.push_back(std::move(tenant));
  }
  for (const auto& tenant : tenants) {
    TRY(promote(tenant, TRY(read_tenant(tenant)).value_or(TenantRecord{}), request.limits));
  }
  return {};
}

}  // namespace tidemark::queue_service
