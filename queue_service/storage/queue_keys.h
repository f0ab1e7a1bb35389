// The keyspace of the queue service. Parts are encoded as in kv/key_codec.h; all records begin with a format version.
// The key 'a' is that of common/kv/age_clock.h, as everywhere; keys with 'y' are those of common/analytics/backlog.h.
//   queue        'q' text(account) text(queue)                   -> QueueRecord: generation, created, metadata, acl
//   properties   'p' text(account)                               -> service properties, canonical XML
//   generations  'n'                                             -> u64: the last generation given out
//   dropped      'd' u64(generation)                             -> empty; its 'm' keys await a range delete
//   departed     'x' u64(to shard) u64(number)                   -> Departure: a message on its way (carriers.h)
//   numbers      's' u64(to shard), 'c' u64(from shard)          -> u64: the last that departed; the last that arrived
//   parts        'b' text(account) text(queue)                   -> PartsNote: parts being made (spread_rows.h)
//   ledger       'o' text(account) text(operation id)            -> the steps of a transaction: common/base
//   faded        'O' the key of a ledger                         -> the time of its last change: common/kv/fading_rows.h
//
// and for each generation, that is, each queue since it was made or cleared, below 'm' u64(generation):
//
//   ready        'r' u64(visible-at) u64(sequence)  -> MessageRecord  visible whatever the clock says
//   timed        't' u64(visible-at) u64(sequence)  -> MessageRecord  delayed or in flight; visible once it is due
//   waiting      'w' text(group) u64(sequence)      -> MessageRecord  behind another message of its group
//   by id        'i' message id                     -> IdRecord: where its row is; of a listed message
//   group        'g' text(group)                    -> GroupRecord; there while one of the group is ready or timed
//   turn key     'u' text(key)                      -> TurnKeyRecord: the state of a key that takes turns
//   tenant       'v' text(tenant)                   -> TenantRecord; there while a message of the tenant heads it
//   turn         'o' text(tenant) u64(turn)         -> a key of the tenant whose waiting messages are due in turn
//   idempotency  'k' text(key)                      -> IdempotencyRecord
//   by age       'a' u64(expires) text(key)         -> empty; the idempotency rows in the order they end
//   figures      'c'                                -> FiguresRecord: the size of each set above, and where it begins
//
// A message that takes turns by a key waits in the list of the key, whose name is that of no group (list_of()).
//
// A message has one row, in one of three sets. Its pop receipt is its place there. A message is listed, which means
// that it also has a row by id, if something other than the receipt can name it: in a poison queue, once it has waited
// for its group, and once it was delivered under a lease; it stays listed when it is moved. Its row, its id row, its
// group's row and the figures change in one transaction. Every rewrite of a message takes a new sequence number, so a
// place, and with it a pop receipt, is never used twice. Clearing a queue gives it another generation, and deleting it
// ends its generation; the old one is listed as dropped.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/kv/fading_rows.h"
#include "common/kv/key_codec.h"
#include "queue_service/model/pop_receipt.h"

namespace tidemark::queue_service {

enum class Set : char { kReady = 'r', kTimed = 't', kWaiting = 'w' };

}  // namespace tidemark::queue_service

namespace tidemark::queue_service::queue_keys {

using kv::Text;

inline constexpr char kServiceProperties = 'p';
inline constexpr std::string_view kGenerations = "n";
inline constexpr char kDroppedGeneration = 'd';

inline std::string queues_of(std::string_view account) { return kv::key('q', Text{account}); }  // prefix
inline std::string queue(std::string_view account, std::string_view name) {
  return kv::key('q', Text{account}, Text{name});
}
inline std::string ledger(std::string_view account, std::string_view operation_id) {
  return kv::key('o', Text{account}, Text{operation_id});
}
inline kv::FadingRows fading_ledgers() { return {kv::under("o"), "O"}; }
inline kv::KeyRange all_queues() { return kv::under("q"); }
inline std::string parts_note(std::string_view account, std::string_view queue) {
  return kv::key('b', Text{account}, Text{queue});
}
inline kv::KeyRange all_parts_notes() { return kv::under("b"); }
/// Returns the name in a key of `queues_of(account)`.
std::optional<std::string> queue_name(std::string_view key, std::string_view account);
/// Returns the account and the name in a key of `all_queues` or `all_parts_notes`.
std::optional<std::pair<std::string, std::string>> account_and_queue(std::string_view key);

inline kv::KeyRange everything_of(std::uint64_t generation) { return kv::under(kv::key('m', generation)); }
inline std::string figures(std::uint64_t generation) { return kv::key('m', generation, 'c'); }
/// Returns the prefix of all rows of a set.
inline std::string set(std::uint64_t generation, Set set) { return kv::key('m', generation, static_cast<char>(set)); }
/// Returns the key of a row of kReady or kTimed.
inline std::string placed(std::uint64_t generation, Set set, const Place& place) {
  return kv::key('m', generation, static_cast<char>(set), place_bytes(place));
}
/// Returns the range of rows with from <= place, visible-at <= `until`.
kv::KeyRange placed_from(std::uint64_t generation, Set set, const Place& from, Time until);
/// Returns the place in a key of `placed`.
std::optional<Place> place_in(std::string_view key);

inline std::string waiting(std::uint64_t generation, std::string_view group, std::uint64_t sequence) {
  return kv::key('m', generation, static_cast<char>(Set::kWaiting), Text{group}, sequence);
}
/// Returns the range of one group's rows from this sequence number on.
kv::KeyRange waiting_from(std::uint64_t generation, std::string_view group, std::uint64_t sequence);
/// Returns the range of all waiting rows after `after`, which is a key of one of them, or empty.
kv::KeyRange all_waiting(std::uint64_t generation, std::string_view after);

inline std::string by_id(std::uint64_t generation, std::string_view id) { return kv::key('m', generation, 'i', id); }
inline std::string group(std::uint64_t generation, std::string_view group) {
  return kv::key('m', generation, 'g', Text{group});
}
inline std::string turn_key(std::uint64_t generation, std::string_view key) {
  return kv::key('m', generation, 'u', Text{key});
}
inline std::string tenant(std::uint64_t generation, std::string_view tenant) {
  return kv::key('m', generation, 'v', Text{tenant});
}
inline std::string turn(std::uint64_t generation, std::string_view tenant, std::uint64_t number) {
  return kv::key('m', generation, 'o', Text{tenant}, number);
}
/// Returns the range of a tenant's turns from this number on.
kv::KeyRange turns_from(std::uint64_t generation, std::string_view tenant, std::uint64_t number);
inline std::string idempotency(std::uint64_t generation, std::string_view key) {
  return kv::key('m', generation, 'k', Text{key});
}
inline std::string idempotency_by_age(std::uint64_t generation, Time expires, std::string_view key) {
  const auto ticks = static_cast<std::uint64_t>(expires.time_since_epoch().count());
  return kv::key('m', generation, 'a', ticks, Text{key});
}
/// Returns the range of rows by age that ended at `until` or before.
inline kv::KeyRange idempotency_until(std::uint64_t generation, Time until) {
  return {kv::key('m', generation, 'a'), idempotency_by_age(generation, until + Ticks(1), "")};
}
inline std::string last_departed(std::uint64_t to_shard) { return kv::key('s', to_shard); }
inline std::string last_arrived(std::uint64_t from_shard) { return kv::key('c', from_shard); }
inline std::string departed(std::uint64_t to_shard, std::uint64_t number) { return kv::key('x', to_shard, number); }
inline kv::KeyRange all_departed(std::uint64_t to_shard) { return kv::under(kv::key('x', to_shard)); }
inline kv::KeyRange everything_departed() { return kv::under("x"); }
/// Returns the number in a key of `departed`.
std::optional<std::uint64_t> departure_number(std::string_view key);

/// Returns the idempotency key in a key of `idempotency_by_age`.
std::optional<std::string> aged_key(std::string_view key);

}  // namespace tidemark::queue_service::queue_keys
